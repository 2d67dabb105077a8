/** What `login` shows while it waits: link, code, QR code and countdown in a terminal, or plain lines elsewhere. */
import { stripVTControlCharacters } from 'node:util';
import type { Prompt } from '../../../client/src/index.ts';
import { barText, clockText, printable, renderQr, styleFor, type TerminalQr } from '../terminal.ts';

/** stdout is for tokens. */
const stream = process.stderr;
const style = styleFor(stream);

export interface Screen {
  /** Reports a problem that a retry may solve. */
  trouble(text: string): void;
  /** The user has opened the link. */
  opened(): void;
  /** Restores the terminal. */
  close(): void;
}

export interface Shown extends Omit<Prompt, 'qr'> {
  readonly service: string;
}

/**
 * A terminal that cannot move its cursor (TERM=dumb, as in Emacs), or whose size nobody has set
 * (0 by 0, as of a serial console), gets plain lines.
 */
export function openScreen(shown: Shown): Screen {
  const hasSize = stream.columns > 0 && stream.rows > 0;
  const canDraw = stream.isTTY && hasSize && process.env.TERM !== 'dumb';
  return canDraw ? openTerminalScreen(shown) : openPlainScreen(shown);
}

const titleLine = ({ service }: Shown) => printable(`Sign in to ${service}`);
const OPENED = 'The link is open: continue there';
const PLAIN_TICK_MS = 60_000;

function openPlainScreen(shown: Shown): Screen {
  const { link, verificationUrl, userCode, secondsLeft } = shown;
  const left = () => clockText(secondsLeft() * 1_000);
  const byCode = userCode
    ? `\nor open ${printable(verificationUrl ?? '')} and type ${userCode}.`
    : '';
  stream.write(`${titleLine(shown)}. Open this link in any browser:\n\n  ${link}\n${byCode}\n`);
  stream.write(`Waiting: the link expires in ${left()}.\n`);
  const ticks = setInterval(() => stream.write(`Waiting: ${left()} left.\n`), PLAIN_TICK_MS);
  return {
    trouble: (text) => void stream.write(`${printable(`Trouble: ${text}. Trying again.`)}\n`),
    opened: () => void stream.write(`${OPENED}.\n`),
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
function openTerminalScreen(shown: Shown): Screen {
  const { expiresIn, secondsLeft } = shown;
  let layout = layOut(shown, stream.columns, stream.rows);
  let trouble = { text: '', untilMs: 0 };
  let isOpened = false;

  function draw(): void {
    layout = layOut(shown, stream.columns, stream.rows);
    stream.write(CLEAR + layout.lines.join('\r\n'));
    drawStatus();
  }

  function drawStatus(): void {
    const nowMs = performance.now();
    const leftMs = secondsLeft() * 1_000;
    const isTroubled = nowMs < trouble.untilMs;
    const waiting = isOpened ? 'Opened: continue there' : 'Waiting for you';
    const colour = isTroubled ? 'yellow' : 'green';
    const { row, column } = layout.status;
    const width = Math.max(1, Math.min(STATUS_COLUMNS, stream.columns - column));
    const clock = clockText(leftMs);
    const both = `${waiting}  ${clock}`;
    // A time that is cut off would be another time.
    const words = isTroubled ? trouble.text : both.length <= width ? both : clock;
    const fitted = words.slice(0, width).padEnd(width);
    const bar = barText(leftMs, expiresIn * 1_000, width);
    stream.write(`\x1b[${row};${column}H${style(['bold', colour], fitted)}`);
    stream.write(`\x1b[${row + 1};${column}H${style(colour, bar)}`);
  }

  const leave = () => void stream.write(LEAVE);
  /** Ctrl-Z gives the shell its screen back, and `fg` draws this one again. */
  function suspend(): void {
    leave();
    process.kill(process.pid, 'SIGSTOP');
  }
  function resume(): void {
    stream.write(ENTER);
    draw();
  }
  process.once('exit', leave);
  process.on('SIGTSTP', suspend).on('SIGCONT', resume);
  // Before the first drawing, so that no change of size is missed.
  stream.on('resize', draw);
  stream.write(ENTER);
  draw();
  const ticks = setInterval(drawStatus, TICK_MS);
  return {
    trouble(text) {
      trouble = { text: printable(text), untilMs: performance.now() + TROUBLE_SHOWN_MS };
      drawStatus();
    },
    opened() {
      isOpened = true;
      drawStatus();
    },
    close() {
      clearInterval(ticks);
      stream.off('resize', draw);
      process.off('exit', leave);
      process.off('SIGTSTP', suspend).off('SIGCONT', resume);
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
/** A smaller margin than the standard's four still scans on a screen, and may be what fits. */
const SMALL_QUIET_ZONE = 2;

const widthOf = (line: string) => stripVTControlCharacters(line).length;

/**
 * The QR code beside the text, or below it, with the margin that fits. In a terminal that is too
 * small for any, only the text, as much as fits.
 */
export function layOut(shown: Shown, columns: number, rows: number): Layout {
  const link = style(['cyan', 'underline'], shown.link);
  const head = [style('bold', titleLine(shown)), link] as const;
  const words = wordsFor(shown, true);
  const rowsOf = (line: string) => Math.max(1, Math.ceil(widthOf(line) / Math.max(1, columns)));
  // Capitals before the path need fewer bits, and browsers ignore the case there.
  const scanned = shown.link.replace(/^https?:\/\/[^/]+/i, (origin) => origin.toUpperCase());
  const codes = [renderQr(scanned), renderQr(scanned, SMALL_QUIET_ZONE)];
  const linkRows = rowsOf(indent(link));
  const layouts = [
    ...codes.map((qr) => beside(head, qr, words, linkRows)),
    ...codes.map((qr) => below(head, words, qr.lines)),
  ];
  // A link that is wider than the terminal wraps. The status must stay where it is, so nothing may scroll.
  const fits = ({ lines }: Layout) =>
    lines.length + linkRows - 1 <= rows &&
    lines.every((line) => line.includes(link) || widthOf(line) <= columns);
  const fitting = layouts.find(fits);
  if (fitting !== undefined) return fitting;
  const { lines, status } = below(head, wordsFor(shown, false), []);
  let used = 0;
  const shownLines = lines.filter((line) => {
    used += rowsOf(line);
    return used <= rows;
  });
  return { lines: shownLines, status };
}

function wordsFor({ userCode, verificationUrl }: Shown, hasQr: boolean): string[] {
  return [
    ...(hasQr
      ? ['Scan the code, or open the', 'link above in any browser.']
      : ['Open the link in any browser.']),
    ...(userCode === undefined
      ? []
      : ['', `Or type ${style('bold', userCode)} at`, printable(verificationUrl ?? '')]),
    '',
  ];
}

const indent = (line: string) => (line === '' ? '' : ' '.repeat(MARGIN) + line);
const CANCEL_HINT = 'Ctrl-C cancels.';

function beside(
  head: readonly string[],
  qr: TerminalQr,
  words: readonly string[],
  linkRows: number,
): Layout {
  const panel = [...words, ...STATUS_ROWS, '', style('dim', CANCEL_HINT)];
  // The words begin level with the code, which is below its quiet zone.
  const panelTop = Math.max(0, Math.min(2, qr.lines.length - panel.length));
  const height = Math.max(qr.lines.length, panelTop + panel.length);
  const body = Array.from({ length: height }, (_, index) => {
    const left = qr.lines[index] ?? ' '.repeat(qr.columns);
    const right = panel[index - panelTop];
    return right ? `${left}${' '.repeat(GAP)}${right}` : left;
  });
  const above = ['', ...head, ''];
  const row = above.length - 1 + linkRows + panelTop + words.length + 1;
  return {
    lines: [...above, ...body].map(indent),
    status: { row, column: MARGIN + qr.columns + GAP + 1 },
  };
}

/** The countdown is near the top, because the lines below it may wrap. */
function below(
  [title, link]: readonly [string, string],
  words: readonly string[],
  code: readonly string[],
): Layout {
  const lines = [title, ...STATUS_ROWS, link, '', ...words, style('dim', CANCEL_HINT), '', ...code];
  return { lines: lines.map(indent), status: { row: 2, column: MARGIN + 1 } };
}
