import { generate } from 'lean-qr';

/** What a scanner needs around the code, in modules. ISO/IEC 18004 §9.1. */
const QUIET_ZONE = 4;

/** Black on white of the fixed 256 colours: a theme may make anything of the first sixteen. */
const BLACK_ON_WHITE = '\x1b[38;5;16;48;5;231m';
const RESET = '\x1b[0m';

export interface Qr {
  /** Half blocks, two modules a character, dark on light whatever the terminal's own colours are. */
  readonly lines: readonly string[];
  readonly columns: number;
}

export function renderQr(text: string): Qr {
  const code = generate(text);
  const lines: string[] = [];
  const end = code.size + QUIET_ZONE;
  for (let row = -QUIET_ZONE; row < end; row += 2) {
    let blocks = '';
    for (let column = -QUIET_ZONE; column < end; column += 1) {
      blocks += halfBlock(code.get(column, row), code.get(column, row + 1));
    }
    lines.push(`${BLACK_ON_WHITE}${blocks}${RESET}`);
  }
  return { lines, columns: code.size + 2 * QUIET_ZONE };
}

function halfBlock(upperIsDark: boolean, lowerIsDark: boolean): string {
  if (upperIsDark) return lowerIsDark ? '█' : '▀';
  return lowerIsDark ? '▄' : ' ';
}
