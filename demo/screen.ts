/** What the demo shows while it waits: a link, a QR code and a countdown in a terminal, or plain lines in a pipe. */
import type { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import { generate } from 'lean-qr';
import type { SignIn } from './device.ts';

export interface Screen {
  /** Reports a problem that a retry may solve. */
  trouble(text: string): void;
  /** Leaves the terminal as it was. */
  close(): void;
}

export function openScreen(signIn: SignIn, stream: WriteStream): Screen {
  return stream.isTTY ? openTerminalScreen(signIn, stream) : openPlainScreen(signIn, stream);
}

const TITLE = 'Demo TV would like you to sign in';
const PLAIN_TICK_MS = 60_000;

function openPlainScreen({ url, expiresAtMs }: SignIn, stream: WriteStream): Screen {
  const left = () => durationText(expiresAtMs - performance.now());
  stream.write(`${TITLE}. Open this link in a browser on this machine\n`);
  stream.write(`and sign in at the demo provider with any name and any password:\n\n  ${url}\n\n`);
  stream.write(`Waiting: the link ends in ${left()}.\n`);
  const ticks = setInterval(() => stream.write(`Waiting: ${left()} left.\n`), PLAIN_TICK_MS);
  return {
    trouble: (text) => void stream.write(`Trouble: ${text}. Trying again.\n`),
    close: () => clearInterval(ticks),
  };
}

/** The alternate screen: the terminal shows its earlier contents again afterwards. */
const ENTER = '\x1b[?1049h\x1b[?25l';
const LEAVE = '\x1b[?25h\x1b[?1049l';
const CLEAR = '\x1b[H\x1b[2J';
const TICK_MS = 1_000;
const TROUBLE_SHOWN_MS = 5_000;

/** After the first drawing only the countdown changes. */
function openTerminalScreen({ url, expiresIn, expiresAtMs }: SignIn, stream: WriteStream): Screen {
  let layout = layOut(url, stream.columns, stream.rows);
  let trouble = { text: '', untilMs: 0 };

  function draw(): void {
    layout = layOut(url, stream.columns, stream.rows);
    stream.write(CLEAR + layout.lines.join('\r\n'));
    drawStatus();
  }

  function drawStatus(): void {
    const nowMs = performance.now();
    const leftMs = expiresAtMs - nowMs;
    const isTroubled = nowMs < trouble.untilMs;
    const words = isTroubled ? trouble.text : `Waiting for you  ${clockText(leftMs)}`;
    const colour = isTroubled ? 'yellow' : 'green';
    const fitted = words.slice(0, STATUS_COLUMNS).padEnd(STATUS_COLUMNS);
    const bar = barText(leftMs, expiresIn * 1_000, STATUS_COLUMNS);
    const { row, column } = layout.status;
    stream.write(`\x1b[${row};${column}H${styleText(['bold', colour], fitted)}`);
    stream.write(`\x1b[${row + 1};${column}H${styleText(colour, bar)}`);
  }

  const leave = () => void stream.write(LEAVE);
  process.once('exit', leave);
  stream.write(ENTER);
  draw();
  const ticks = setInterval(drawStatus, TICK_MS);
  stream.on('resize', draw);
  return {
    trouble(text) {
      trouble = { text, untilMs: performance.now() + TROUBLE_SHOWN_MS };
      drawStatus();
    },
    close() {
      clearInterval(ticks);
      stream.off('resize', draw);
      process.off('exit', leave);
      leave();
    },
  };
}

export interface Layout {
  readonly lines: readonly string[];
  /** Where the countdown is: two rows of cells, counted from 1. */
  readonly status: { readonly row: number; readonly column: number };
}

const STATUS_COLUMNS = 30;
const STATUS_ROWS = ['', ''];
const MARGIN = 2;
const GAP = 3;
/** The words begin level with the code, which is below its quiet zone. */
const PANEL_TOP = 2;

const STEPS = [
  `${styleText('bold', '1')} Open the link above in a`,
  '  browser on this machine.',
  '',
  `${styleText('bold', '2')} Sign in at the demo provider:`,
  '  any name, any password.',
  '',
];

const HINTS = [
  'A phone would scan the code, but',
  'this demo lives on this machine,',
  'where no phone can reach it.',
  '',
  'Ctrl-C ends the demo.',
].map((line) => styleText('dim', line));

/** Puts the words beside the code. A terminal that is too small for both gets the words only. */
export function layOut(link: string, columns: number, rows: number): Layout {
  const indent = (line: string) => (line === '' ? '' : ' '.repeat(MARGIN) + line);
  const title = styleText('bold', TITLE);
  const shownLink = styleText(['cyan', 'underline'], link);
  const qr = renderQr(link);
  const neededColumns = Math.max(qr.columns + GAP + STATUS_COLUMNS, link.length) + MARGIN;
  const neededRows = 2 + qr.lines.length;
  if (columns < neededColumns || rows <= neededRows) {
    // The countdown is near the top, because the lines below it may wrap.
    const lines = [title, ...STATUS_ROWS, '', shownLink, '', ...STEPS, ...HINTS];
    return { lines: lines.map(indent), status: { row: 2, column: MARGIN + 1 } };
  }
  const blank = rows > neededRows + 2 ? [''] : [];
  const above = [...blank, title, shownLink, ...blank];
  const panel = [...STEPS, ...STATUS_ROWS, '', ...HINTS];
  const body = qr.lines.map((line, index) => {
    const words = panel[index - PANEL_TOP];
    return words === undefined ? line : `${line}${' '.repeat(GAP)}${words}`;
  });
  const row = above.length + PANEL_TOP + STEPS.length + 1;
  const column = MARGIN + qr.columns + GAP + 1;
  return { lines: [...above, ...body].map(indent), status: { row, column } };
}

/** What a scanner needs around the code, in modules. ISO/IEC 18004 §9.1. */
const QUIET_ZONE = 4;

/** Two of the fixed 256 colours, because a theme may change the first sixteen. */
const BLACK_ON_WHITE = '\x1b[38;5;16;48;5;231m';
const RESET = '\x1b[0m';

/** Half blocks, so that one character is two modules, one above the other. */
export function renderQr(text: string): { lines: string[]; columns: number } {
  const code = generate(text);
  const end = code.size + QUIET_ZONE;
  const lines: string[] = [];
  for (let row = -QUIET_ZONE; row < end; row += 2) {
    let blocks = '';
    for (let column = -QUIET_ZONE; column < end; column += 1) {
      const isLowerDark = code.get(column, row + 1);
      if (code.get(column, row)) blocks += isLowerDark ? '█' : '▀';
      else blocks += isLowerDark ? '▄' : ' ';
    }
    lines.push(`${BLACK_ON_WHITE}${blocks}${RESET}`);
  }
  return { lines, columns: code.size + 2 * QUIET_ZONE };
}

/** As on a clock: `9:41`. */
export function clockText(leftMs: number): string {
  const seconds = Math.max(0, Math.ceil(leftMs / 1_000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** `1 hour`, `10 minutes`, `40 seconds`: in the largest unit that it fills. */
export function durationText(leftMs: number): string {
  const seconds = Math.max(0, Math.round(leftMs / 1_000));
  if (seconds >= 3_600) return countText(seconds / 3_600, 'hour');
  return seconds >= 60 ? countText(seconds / 60, 'minute') : countText(seconds, 'second');
}

function countText(amount: number, unit: string): string {
  const count = Math.round(amount);
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

/** A bar that grows shorter. */
export function barText(leftMs: number, totalMs: number, columns: number): string {
  const part = Math.min(1, Math.max(0, leftMs / totalMs));
  const full = Math.ceil(part * columns);
  return '━'.repeat(full) + '┄'.repeat(columns - full);
}
