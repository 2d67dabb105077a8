/** Draws medians with the range of their samples over a logarithmic axis, and measurements over time. */
import { median } from './figures.ts';

export interface Series {
  readonly label: string;
  readonly colour: string;
  readonly points: readonly { readonly x: number; readonly samples: readonly number[] }[];
}

const [WIDTH, HEIGHT] = [720, 400];
const [LEFT, RIGHT, TOP, BOTTOM] = [70, WIDTH - 30, 50, HEIGHT - 90];
const STEPS = 5;

/** Returns SVG. */
export function drawPlot(title: string, xLabel: string, yLabel: string, series: readonly Series[]) {
  const points = series.flatMap((each) => each.points);
  const xs = [...new Set(points.map(({ x }) => x))];
  const highest = roundUp(Math.max(...points.flatMap(({ samples }) => samples)));
  const [first, last] = [Math.log(Math.min(...xs)), Math.log(Math.max(...xs))];
  const atX = (x: number) => LEFT + ((Math.log(x) - first) / (last - first || 1)) * (RIGHT - LEFT);
  const atY = (y: number) => BOTTOM - (y / highest) * (BOTTOM - TOP);

  const grid = Array.from({ length: STEPS + 1 }, (_, step) => {
    const y = atY((highest / STEPS) * step);
    const label = String(Math.round((highest / STEPS) * step));
    return line(LEFT, y, RIGHT, y, '#ddd') + text(LEFT - 10, y + 4, 'end', label);
  });
  const ticks = xs.map((x) => text(atX(x), BOTTOM + 20, 'middle', x.toLocaleString('en')));
  const legend = series.map(({ label, colour }, index) => {
    const y = HEIGHT - 28 + index * 18;
    return circle(LEFT + 6, y - 4, colour) + text(LEFT + 18, y, 'start', label);
  });
  const marks = series.flatMap(({ colour, points: ours }) => {
    const path = ours.map(({ x, samples }) => `${fix(atX(x))},${fix(atY(median(samples)))}`);
    const spots = ours.map(({ x, samples }) => {
      const [low, high] = [atY(Math.min(...samples)), atY(Math.max(...samples))];
      return line(atX(x), low, atX(x), high, colour) + circle(atX(x), atY(median(samples)), colour);
    });
    const style = `fill="none" stroke="${colour}" stroke-width="2"`;
    return [`<polyline points="${path.join(' ')}" ${style}/>`, ...spots];
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" font-family="sans-serif" font-size="13" fill="#222">
<title>${title}</title>
<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>
${text(WIDTH / 2, 24, 'middle', title)}
${text(LEFT, TOP - 10, 'middle', yLabel)}
${text(WIDTH / 2, BOTTOM + 42, 'middle', xLabel)}
${[...grid, ...ticks, ...marks, ...legend].join('\n')}
</svg>
`;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Panel {
  readonly title: string;
  readonly lines: readonly {
    readonly colour: string;
    readonly points: readonly Point[];
  }[];
}

const [PANEL_HEIGHT, PANEL_GAP] = [110, 40];

/** Panels one below the other over the same minutes. Returns SVG. */
export function drawOverTime(
  title: string,
  legend: readonly { readonly label: string; readonly colour: string }[],
  panels: readonly Panel[],
) {
  const all = panels.flatMap(({ lines }) => lines).flatMap(({ points }) => points);
  const last = Math.max(1, ...all.map(({ x }) => x));
  const atX = (x: number) => LEFT + (x / last) * (RIGHT - LEFT);
  const bottomOf = (index: number) => TOP + 30 + index * (PANEL_HEIGHT + PANEL_GAP) + PANEL_HEIGHT;
  const height = bottomOf(panels.length - 1) + 60;
  const entries = legend.map(({ label, colour }, index) => {
    const x = LEFT + (index * (RIGHT - LEFT)) / legend.length;
    return circle(x, TOP - 8, colour) + text(x + 10, TOP - 4, 'start', label);
  });
  const drawn = panels.flatMap((panel, index) => {
    const bottom = bottomOf(index);
    const ys = panel.lines.flatMap(({ points }) => points).map(({ y }) => y);
    const highest = roundUp(Math.max(1, ...ys));
    const atY = (y: number) => bottom - (y / highest) * PANEL_HEIGHT;
    const grid = [0, highest / 2, highest].map(
      (y) => line(LEFT, atY(y), RIGHT, atY(y), '#ddd') + text(LEFT - 8, atY(y) + 4, 'end', `${y}`),
    );
    const paths = panel.lines.map(({ colour, points }) => {
      const path = points.map(({ x, y }) => `${fix(atX(x))},${fix(atY(y))}`).join(' ');
      return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="1.2"/>`;
    });
    return [...grid, text(LEFT, bottom - PANEL_HEIGHT - 8, 'start', panel.title), ...paths];
  });
  const ticks = Array.from({ length: STEPS + 1 }, (_, step) => (last / STEPS) * step).map((x) =>
    text(atX(x), height - 38, 'middle', String(Math.round(x))),
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" font-family="sans-serif" font-size="13" fill="#222">
<title>${title}</title>
<rect width="${WIDTH}" height="${height}" fill="#fff"/>
${text(WIDTH / 2, 24, 'middle', title)}
${[...entries, ...drawn, ...ticks].join('\n')}
${text(WIDTH / 2, height - 14, 'middle', 'minutes')}
</svg>
`;
}

const fix = (value: number) => value.toFixed(1);

const line = (x1: number, y1: number, x2: number, y2: number, colour: string) =>
  `<line x1="${fix(x1)}" y1="${fix(y1)}" x2="${fix(x2)}" y2="${fix(y2)}" stroke="${colour}"/>`;

const circle = (x: number, y: number, colour: string) =>
  `<circle cx="${fix(x)}" cy="${fix(y)}" r="4" fill="${colour}"/>`;

const text = (x: number, y: number, anchor: string, content: string) =>
  `<text x="${fix(x)}" y="${fix(y)}" text-anchor="${anchor}">${content}</text>`;

/** To a number that five steps divide well. */
function roundUp(value: number): number {
  const step = 10 ** Math.floor(Math.log10(value)) / 2;
  return Math.ceil(value / step) * step;
}
