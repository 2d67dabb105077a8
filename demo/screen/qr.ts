import { encode } from 'uqr';

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
  const { data, size } = encode(text, { border: QUIET_ZONE });
  const lines: string[] = [];
  for (let row = 0; row < size; row += 2) {
    const upper = data[row] ?? [];
    const lower = data[row + 1] ?? [];
    const blocks = upper.map((isDark, column) => halfBlock(isDark, lower[column] ?? false));
    lines.push(`${BLACK_ON_WHITE}${blocks.join('')}${RESET}`);
  }
  return { lines, columns: size };
}

function halfBlock(upperIsDark: boolean, lowerIsDark: boolean): string {
  if (upperIsDark) return lowerIsDark ? '█' : '▀';
  return lowerIsDark ? '▄' : ' ';
}
