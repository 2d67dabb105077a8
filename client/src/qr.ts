/** QR codes of links (ISO/IEC 18004): byte mode, error correction L, versions 1 to 5. */

export interface Qr {
  /** Rows of modules, `true` is dark, without the quiet zone of 4 modules. */
  readonly matrix: readonly (readonly boolean[])[];
  /** An SVG element, dark on light, with the quiet zone. */
  readonly svg: string;
}

/** By version: bytes of data, and of error correction. */
const DATA = [0, 19, 34, 55, 80, 108];
const CORRECTION = [0, 7, 10, 15, 20, 26];
/** Format information of level L by mask, Annex C. Four of the eight masks are enough. */
const FORMATS = [0x77c4, 0x72f3, 0x7daa, 0x789d];

/** Undefined: longer than 106 characters, or with a character that is no byte of a URL (RFC 3986 §2). */
export function createQr(link: string): Qr | undefined {
  if (/[^!-~]/.test(link)) return undefined;
  let version = 1;
  while ((DATA[version] as number) < link.length + 2) version += 1;
  if (version > 5) return undefined;
  const bits = encode(link, version);
  const [matrix = []] = FORMATS.map((_, mask) => draw(bits, version * 4 + 17, mask)).sort(
    (one, other) => penaltyOf(one) - penaltyOf(other),
  );
  const size = matrix.length + 8;
  const path = matrix.map((cells, row) =>
    cells.map((isDark, column) => (isDark ? `M${column + 4} ${row + 4}h1v1h-1z` : '')).join(''),
  );
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h45v45H0z"/><path d="${path.join('')}"/></svg>`;
  return { matrix, svg };
}

const binary = (byte: number) => (byte + 256).toString(2).slice(1);

/** The bits of the data and of its error correction, which make one block in these versions. */
function encode(link: string, version: number): string {
  // Byte mode, the length, the bytes, the end, and padding.
  let bits = `0100${binary(link.length)}`;
  for (let index = 0; index < link.length; index += 1) bits += binary(link.charCodeAt(index));
  bits += '0000';
  while (bits.length < (DATA[version] as number) * 8) bits += '1110110000010001';
  const data = (bits.match(/.{8}/g) as string[])
    .slice(0, DATA[version])
    .map((byte) => parseInt(byte, 2));
  return data
    .concat(correctionOf(data, CORRECTION[version] as number))
    .map(binary)
    .join('');
}

/** Reed-Solomon over GF(256). */
function correctionOf(data: readonly number[], length: number): number[] {
  let divisor = [1];
  let root = 1;
  for (let power = 0; power < length; power += 1) {
    const factor = root;
    divisor = divisor
      .concat(0)
      .map((value, index) => value ^ multiply(factor, index && (divisor[index - 1] as number)));
    root = multiply(root, 2);
  }
  return data.reduce(
    (rest, byte) =>
      rest.map(
        (_, index) =>
          (rest[index + 1] as number) ^
          multiply(byte ^ (rest[0] as number), divisor[index + 1] as number),
      ),
    divisor.slice(1).map(() => 0),
  );
}

function multiply(a: number, b: number): number {
  return b && ((b & 1) * a) ^ multiply((a << 1) ^ ((a >> 7) * 0x11d), b >> 1);
}

function draw(bits: string, size: number, mask: number): boolean[][] {
  const matrix: boolean[][] = [];
  for (let row = 0; row < size; row += 1) matrix.push([]);

  const set = (row: number, column: number, isDark: boolean) => {
    const cells = matrix[row];
    if (cells && column >= 0 && column < size) cells[column] = isDark;
  };
  /** Concentric squares, of which one is light, and the fourth too. */
  const square = (row: number, column: number, radius: number, light: number) => {
    for (let y = -radius; y <= radius; y += 1) {
      for (let x = -radius; x <= radius; x += 1) {
        const distance = Math.max(Math.abs(x), Math.abs(y));
        set(row + y, column + x, distance !== light && distance < 4);
      }
    }
  };

  for (let index = 0; index < size; index += 1) {
    set(6, index, !(index % 2));
    set(index, 6, !(index % 2));
  }
  square(3, 3, 4, 2);
  square(3, size - 4, 4, 2);
  square(size - 4, 3, 4, 2);
  if (size > 21) square(size - 7, size - 7, 2, 1);
  for (let bit = 0; bit < 15; bit += 1) {
    const isDark = !!(((FORMATS[mask] as number) >> bit) & 1);
    set(bit < 6 ? bit : bit < 8 ? bit + 1 : size - 15 + bit, 8, isDark);
    set(8, bit < 8 ? size - 1 - bit : bit < 9 ? 7 : 14 - bit, isDark);
  }
  set(size - 8, 8, true);

  // Two columns at a time from the right, up and down in turn. Column 6 is left out.
  let index = 0;
  for (let right = size - 1; right > 0; right -= right === 8 ? 3 : 2) {
    for (let step = 0; step < size; step += 1) {
      const row = (right + 1) & 2 ? step : size - 1 - step;
      for (let column = right; column > right - 2; column -= 1) {
        if ((matrix[row] as boolean[])[column] !== undefined) continue;
        const masks = [(row + column) % 2, row % 2, column % 3, (row + column) % 3];
        set(row, column, (bits[index] === '1') === (masks[mask] as number) > 0);
        index += 1;
      }
    }
  }
  return matrix;
}

/** Long runs of one colour, and what looks like a finder pattern, make a code hard to read. */
function penaltyOf(matrix: boolean[][]): number {
  const lines = matrix.map((cells, column) =>
    [cells, matrix.map((row) => row[column])].map((line) => line.map(Number).join('')).join(' '),
  );
  return lines.join(' ').split(/0{5,}|1{5,}|1011101/).length;
}
