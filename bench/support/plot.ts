/** Draws medians with the span of their samples over a logarithmic axis, as SVG. */
import { median } from './median.ts';

export interface Series {
  readonly label: string;
  readonly colour: string;
  readonly points: readonly { readonly x: number; readonly samples: readonly number[] }[];
}

export interface Plot {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly series: readonly Series[];
}

const [WIDTH, HEIGHT] = [720, 400];
const MARGIN = { left: 70, right: 30, top: 50, bottom: 90 };
const STEPS = 5;

export function drawPlot({ title, xLabel, yLabel, series }: Plot): string {
  const points = series.flatMap((each) => each.points);
  const xs = [...new Set(points.map(({ x }) => x))];
  const top = roundUp(Math.max(...points.flatMap(({ samples }) => samples)));
  const [left, right] = [Math.log(Math.min(...xs)), Math.log(Math.max(...xs))];
  const span = right - left || 1;
  const atX = (x: number) =>
    MARGIN.left + ((Math.log(x) - left) / span) * (WIDTH - MARGIN.left - MARGIN.right);
  const atY = (y: number) =>
    HEIGHT - MARGIN.bottom - (y / top) * (HEIGHT - MARGIN.top - MARGIN.bottom);

  const grid = Array.from({ length: STEPS + 1 }, (_, step) => {
    const y = (top / STEPS) * step;
    return `${line(atX(Math.min(...xs)), atY(y), atX(Math.max(...xs)), atY(y), '#ddd')}
${text(MARGIN.left - 10, atY(y) + 4, String(Math.round(y)), 'end')}`;
  });
  const ticks = xs.map((x) =>
    text(atX(x), HEIGHT - MARGIN.bottom + 20, x.toLocaleString('en'), 'middle'),
  );
  const legend = series.map(({ label, colour }, index) => {
    const y = HEIGHT - 28 + index * 18;
    return `<circle cx="${MARGIN.left + 6}" cy="${y - 4}" r="5" fill="${colour}"/>
${text(MARGIN.left + 18, y, label, 'start')}`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" font-family="sans-serif" font-size="13" fill="#222">
<title>${title}</title>
<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>
<text x="${WIDTH / 2}" y="24" text-anchor="middle" font-size="16">${title}</text>
${text(MARGIN.left, MARGIN.top - 10, yLabel, 'middle')}
${text(WIDTH / 2, HEIGHT - MARGIN.bottom + 42, xLabel, 'middle')}
${[...grid, ...ticks, ...series.map((each) => drawSeries(each, atX, atY)), ...legend].join('\n')}
</svg>
`;
}

function drawSeries(
  { colour, points }: Series,
  atX: (x: number) => number,
  atY: (y: number) => number,
): string {
  const spots = points.map(({ x, samples }) => {
    const bar = line(atX(x), atY(Math.min(...samples)), atX(x), atY(Math.max(...samples)), colour);
    return `${bar}<circle cx="${fix(atX(x))}" cy="${fix(atY(median(samples)))}" r="4" fill="${colour}"/>`;
  });
  const path = points
    .map(({ x, samples }) => `${fix(atX(x))},${fix(atY(median(samples)))}`)
    .join(' ');
  return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>\n${spots.join('\n')}`;
}

function line(x1: number, y1: number, x2: number, y2: number, colour: string): string {
  return `<line x1="${fix(x1)}" y1="${fix(y1)}" x2="${fix(x2)}" y2="${fix(y2)}" stroke="${colour}"/>`;
}

function text(x: number, y: number, content: string, anchor: 'start' | 'middle' | 'end'): string {
  return `<text x="${fix(x)}" y="${fix(y)}" text-anchor="${anchor}">${content}</text>`;
}

const fix = (value: number) => value.toFixed(1);

/** To a number that five steps divide well. */
function roundUp(value: number): number {
  const step = 10 ** Math.floor(Math.log10(value)) / 2;
  return Math.ceil(value / step) * step;
}
