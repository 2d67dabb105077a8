/** Reads and measures pictures of QR codes. The scanner is not the library that drew them. */
import { convertIndexedToRgb, decode } from 'fast-png';
import jsqr from 'jsqr';

type Picture = ReturnType<typeof readPng>;

/** With four bytes a pixel. */
export function readPng(png: Uint8Array) {
  const image = decode(png);
  const { width: widthPx, height: heightPx } = image;
  const channels = image.palette ? 3 : image.channels;
  const data = image.palette ? convertIndexedToRgb(image) : image.data;
  const rgba = new Uint8ClampedArray(widthPx * heightPx * 4).fill(255);
  for (let pixel = 0; pixel < widthPx * heightPx; pixel += 1) {
    for (let channel = 0; channel < channels; channel += 1) {
      rgba[pixel * 4 + channel] = data[pixel * channels + channel] ?? 0;
    }
  }
  return { widthPx, heightPx, rgba };
}

/** The text that a scanner reads. */
export function scan({ widthPx, heightPx, rgba }: Picture): string | undefined {
  return jsqr(rgba, widthPx, heightPx)?.data;
}

const DARK: Record<string, [upper: boolean, lower: boolean]> = {
  ' ': [false, false],
  '▀': [true, false],
  '▄': [false, true],
  '█': [true, true],
};

/** What a camera sees in the cells of a terminal, which are twice as high as wide. */
export function scanTerminal(lines: readonly string[]): string | undefined {
  const rows = lines.flatMap((line) => {
    const cells = [...line].map((cell) => DARK[cell] ?? [false, false]);
    return [0, 1].flatMap((half) => {
      const pixels = cells.flatMap((cell) => Array<boolean>(4).fill(cell[half] ?? false));
      return [pixels, pixels, pixels, pixels];
    });
  });
  const width = Math.max(...rows.map((row) => row.length));
  const rgba = rows.flatMap((row) =>
    Array.from({ length: width }, (_, x) => (row[x] ? 0 : 255)).flatMap((level) => [
      level,
      level,
      level,
      255,
    ]),
  );
  return jsqr(new Uint8ClampedArray(rgba), width, rows.length)?.data;
}

export function measure({ widthPx, heightPx, rgba }: Picture) {
  const colours = new Uint32Array(rgba.buffer);
  const colourAt = (x: number, y: number) => colours[y * widthPx + x];
  const isLight = (x: number, y: number) => colourAt(x, y) === WHITE;
  const columns = Array.from({ length: widthPx }, (_, x) => x);
  const rows = Array.from({ length: heightPx }, (_, y) => y);
  const isInkedColumn = (x: number) => !rows.every((y) => isLight(x, y));
  const isInkedRow = (y: number) => !columns.every((x) => isLight(x, y));
  const [left, right] = [columns.findIndex(isInkedColumn), columns.findLastIndex(isInkedColumn)];
  const [top, bottom] = [rows.findIndex(isInkedRow), rows.findLastIndex(isInkedRow)];
  // The upper edge starts with a finder pattern: seven dark modules, then a light one.
  const modulePx = (columns.findIndex((x) => x > left && isLight(x, top)) - left) / 7;

  let strayPixels = 0;
  for (const y of rows) {
    const moduleTop = y - ((y - top + widthPx * modulePx) % modulePx);
    for (const x of columns) {
      const moduleLeft = x - ((x - left + widthPx * modulePx) % modulePx);
      const colour = colourAt(x, y);
      const isPure = colour === BLACK || colour === WHITE;
      if (!isPure || colour !== colourAt(moduleLeft, moduleTop)) strayPixels += 1;
    }
  }
  return {
    /** Whole when every module is equally many pixels wide. */
    modulePx,
    /** Along one side, without the quiet zone. */
    modules: (right + 1 - left) / modulePx,
    /** Around the code, in modules: left, top, right, bottom. */
    quietZone: [left, top, widthPx - 1 - right, heightPx - 1 - bottom].map((px) => px / modulePx),
    /** Pixels that do not have the colour of their whole module. */
    strayPixels,
  };
}

/** Four bytes as one number, in whichever byte order: alpha is 255 in both. */
const [BLACK, WHITE] = new Uint32Array(new Uint8Array([0, 0, 0, 255, 255, 255, 255, 255]).buffer);
