/** What the commands write to a terminal: untrusted text, QR codes, times, a countdown. */
import { correction, generate } from 'lean-qr';
import { spellOutUnseen } from '../pages/shown-name.ts';

/** Longer than any line of the commands themselves. What a server sends may have any length. */
const LINE_CHARACTERS = 1_000;

/**
 * One line with text from a server, an app or a file name. Control characters would move
 * the cursor, set the clipboard (OSC 52) or reorder the text, so each invisible character
 * is spelled out, as in `<U+001B>`.
 */
export function printable(text: string): string {
  const line = text.slice(0, LINE_CHARACTERS).replace(/[\t-\r\u2028\u2029]+/g, ' ');
  const shown = [...spellOutUnseen(line)];
  const isCut = text.length > LINE_CHARACTERS || shown.length > LINE_CHARACTERS;
  return isCut ? `${shown.slice(0, LINE_CHARACTERS).join('')}…` : shown.join('');
}

/** JSON in ASCII, for a terminal, a file or a program: JSON.stringify leaves C1 and bidi controls as they are. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(/[^\n -~]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** The margin that a scanner needs, in modules. ISO/IEC 18004 §9.1. */
const QUIET_ZONE = 4;

/** Two of the fixed 256 colours, because a theme may change the first sixteen. */
const BLACK_ON_WHITE = '\x1b[38;5;16;48;5;231m';
const RESET = '\x1b[0m';

export interface TerminalQr {
  readonly lines: readonly string[];
  readonly columns: number;
}

/** One character is two modules, one above the other. */
export const renderQr = (text: string, quietZone = QUIET_ZONE) =>
  draw(text, quietZone, 2, (upper, lower) => (upper ? (lower ? '█' : '▀') : lower ? '▄' : ' '));

/** Four times as large: two characters are one module. */
export const renderLargeQr = (text: string) =>
  draw(text, QUIET_ZONE, 1, (module) => (module ? '██' : '  '));

/** `cell`: of a module, and the one below it. */
function draw(
  text: string,
  quietZone: number,
  rowsOfLine: number,
  cell: (isDark: boolean, isLowerDark: boolean) => string,
): TerminalQr {
  const code = generate(text, { minCorrectionLevel: correction.L });
  const end = code.size + quietZone;
  const lines: string[] = [];
  for (let row = -quietZone; row < end; row += rowsOfLine) {
    let blocks = '';
    for (let column = -quietZone; column < end; column += 1) {
      blocks += cell(code.get(column, row), code.get(column, row + 1));
    }
    lines.push(`${BLACK_ON_WHITE}${blocks}${RESET}`);
  }
  return { lines, columns: (end + quietZone) * cell(true, true).length };
}

/** `9:41` */
export function clockText(leftMs: number): string {
  const seconds = Math.max(0, Math.ceil(leftMs / 1_000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** `1 hour`, `10 minutes` or `40 seconds`. */
export function durationText(leftMs: number): string {
  const seconds = Math.max(0, Math.round(leftMs / 1_000));
  if (seconds >= 3_600) return countText(seconds / 3_600, 'hour');
  return seconds >= 60 ? countText(seconds / 60, 'minute') : countText(seconds, 'second');
}

function countText(amount: number, unit: string): string {
  const count = Math.round(amount);
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

export function barText(leftMs: number, totalMs: number, columns: number): string {
  const part = Math.min(1, Math.max(0, leftMs / totalMs));
  const full = Math.ceil(part * columns);
  return '━'.repeat(full) + '┄'.repeat(columns - full);
}
