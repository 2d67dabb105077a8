/** Where everything stands while the demo waits. Pure: text in, lines out. */
import { styleText } from 'node:util';
import { renderQr } from './qr.ts';

export interface Layout {
  readonly lines: readonly string[];
  /** Where the countdown stands, which alone changes: two rows of cells, counted from 1. */
  readonly status: { readonly row: number; readonly column: number };
}

export const TITLE = 'Demo TV would like you to sign in';
export const STATUS_COLUMNS = 30;

const STATUS_ROWS = ['', ''];
const MARGIN = 2;
const GAP = 3;
/** The words begin level with the code, which lies below its quiet zone. */
const PANEL_TOP = 2;

/** The code with the words beside it; where the terminal is too small for that, the words alone. */
export function layOut(link: string, columns: number, rows: number): Layout {
  const qr = renderQr(link);
  const head = [bold(TITLE), styleText(['cyan', 'underline'], link)];
  const wideColumns = MARGIN + qr.columns + GAP + STATUS_COLUMNS;
  const fits = columns >= Math.max(wideColumns, MARGIN + link.length);
  if (!fits || rows <= head.length + qr.lines.length) return layOutNarrow(head);

  // A breath of air around the link, if there is any.
  const air = rows > head.length + qr.lines.length + 2 ? [''] : [];
  const above = [...air, ...head, ...air];
  const body = qr.lines.map((line, index) => {
    const words = PANEL[index - PANEL_TOP];
    return words === undefined ? line : `${line}${' '.repeat(GAP)}${words}`;
  });
  return {
    lines: [...above, ...body].map(indent),
    status: {
      row: above.length + PANEL_TOP + STEPS.length + 1,
      column: MARGIN + qr.columns + GAP + 1,
    },
  };
}

/** The countdown comes first: what is below may wrap. */
function layOutNarrow([title = '', link = '']: string[]): Layout {
  const lines = [title, ...STATUS_ROWS, '', link, '', ...STEPS, ...HINTS.slice(1)];
  return { lines: lines.map(indent), status: { row: 2, column: MARGIN + 1 } };
}

const STEPS = [
  `${bold('1')} Open the link above in a`,
  '  browser on this machine.',
  '',
  `${bold('2')} Sign in at the demo provider:`,
  '  any name, any password.',
  '',
];

const HINTS = [
  '',
  ...[
    'A phone would scan the code, but',
    'this demo lives on this machine,',
    'where no phone can reach it.',
    '',
    'Ctrl-C ends the demo.',
  ].map((line) => styleText('dim', line)),
];

const PANEL = [...STEPS, ...STATUS_ROWS, ...HINTS];

function bold(text: string): string {
  return styleText('bold', text);
}

function indent(line: string): string {
  return line === '' ? '' : ' '.repeat(MARGIN) + line;
}
