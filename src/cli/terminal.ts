/** What the commands write to a terminal: untrusted text, colours, QR codes, times. */
import { styleText } from 'node:util';
import { generate } from 'lean-qr';
import { QR_QUIET_ZONE } from '../limits.ts';
import { spellOutInvisible } from '../pages/shown-name.ts';

/** The longest line that is printed. A server may send text of any length. */
const LINE_CHARACTERS = 1_000;

/**
 * One line with text from a server, an app or a file name. Control characters would move
 * the cursor, set the clipboard (OSC 52) or reorder the text, so each invisible character
 * is spelled out, as in `<U+001B>`.
 */
export function printable(text: string): string {
  const line = text.slice(0, LINE_CHARACTERS).replace(/[\t-\r\u2028\u2029]+/g, ' ');
  const shown = [...spellOutInvisible(line)];
  const isCut = text.length > LINE_CHARACTERS || shown.length > LINE_CHARACTERS;
  return isCut ? `${shown.slice(0, LINE_CHARACTERS).join('')}…` : shown.join('');
}

/** False in pipes, with NO_COLOR, and in a terminal that knows no escape sequences, as in Emacs. */
const hasColours = ({ isTTY }: NodeJS.WriteStream) =>
  isTTY === true && !process.env.NO_COLOR && process.env.TERM !== 'dumb';

/** Returns a function that styles text for this stream. */
export const styleFor =
  (stream: NodeJS.WriteStream) => (format: Parameters<typeof styleText>[0], text: string) =>
    hasColours(stream) ? styleText(format, text, { validateStream: false }) : text;

/** JSON in ASCII, for a terminal, a file or a program: JSON.stringify leaves C1 and bidi controls as they are. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(/[^\n -~]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** Two of the fixed 256 colours, because a theme may change the first sixteen. */
const BLACK_ON_WHITE = '\x1b[38;5;16;48;5;231m';
const RESET = '\x1b[0m';

/** Each character shows two modules, one above the other. */
export function renderQr(text: string, quietZone = QR_QUIET_ZONE) {
  const code = generate(text);
  const end = code.size + quietZone;
  const lines: string[] = [];
  for (let row = -quietZone; row < end; row += 2) {
    let blocks = '';
    for (let column = -quietZone; column < end; column += 1) {
      const [upper, lower] = [code.get(column, row), code.get(column, row + 1)];
      blocks += upper ? (lower ? '█' : '▀') : lower ? '▄' : ' ';
    }
    lines.push(`${BLACK_ON_WHITE}${blocks}${RESET}`);
  }
  return { lines, columns: end + quietZone };
}

/** `9:41` */
export function clockText(leftMs: number): string {
  const seconds = Math.max(0, Math.ceil(leftMs / 1_000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
