/** What the demo draws: a code that scans, a screen that fits, times that a person reads. */
import { describe, expect, test } from 'bun:test';
import { stripVTControlCharacters } from 'node:util';
import jsqr from 'jsqr';
import { barText, clockText, durationText } from '../../demo/screen/countdown.ts';
import { layOut } from '../../demo/screen/layout.ts';
import { renderQr } from '../../demo/screen/qr.ts';

/** As long as a link of the demo gets. */
const LINK = 'http://127.0.0.1:65535/auth/demo?state=ABCDEFGHIJKLMNOPQRSTUVWX';

const DARK_MODULES: Record<string, [upper: boolean, lower: boolean]> = {
  ' ': [false, false],
  '▀': [true, false],
  '▄': [false, true],
  '█': [true, true],
};

/** What a camera sees: each character is two modules, one above the other. */
function readModules(lines: readonly string[]): boolean[][] {
  return lines.flatMap((line) => {
    const pairs = [...stripVTControlCharacters(line)].map((block) => DARK_MODULES[block]);
    return [0, 1].map((half) => pairs.map((pair) => pair?.[half] ?? false));
  });
}

/** A module is four pixels wide: a scanner does not read fewer. */
function scan(modules: readonly boolean[][]): string | undefined {
  const pixels = modules.flatMap((row) => {
    const line = row.flatMap((isDark) => Array(4).fill(isDark ? 0 : 255));
    return [line, line, line, line];
  });
  const rgba = pixels.flat().flatMap((level) => [level, level, level, 255]);
  const width = pixels[0]?.length ?? 0;
  return jsqr(new Uint8ClampedArray(rgba), width, pixels.length)?.data;
}

describe('demo: QR code', () => {
  test('the half blocks show what a scanner reads as the link, and a quiet zone of four around it', () => {
    const { lines, columns } = renderQr(LINK);
    const seen = readModules(lines);
    // A last row by itself shares its characters with nothing.
    expect(seen.map((row) => row.length)).toEqual(Array(columns + 1).fill(columns));
    const dark = seen.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [{ x, y }] : [])));
    for (const places of [dark.map(({ x }) => x), dark.map(({ y }) => y)]) {
      expect([Math.min(...places), Math.max(...places)]).toEqual([4, columns - 5]);
    }
    expect(scan(seen)).toBe(LINK);
  });

  test('every line is black on white by itself, whatever the terminal has', () => {
    for (const line of renderQr(LINK).lines) {
      expect(line).toStartWith('\x1b[38;5;16;48;5;231m');
      expect(line).toEndWith('\x1b[0m');
    }
  });
});

describe('demo: screen', () => {
  const shown = ({ lines }: { lines: readonly string[] }) => lines.map(stripVTControlCharacters);

  test('80 columns and 24 rows hold the code, the link unbroken, the steps and the countdown', () => {
    const layout = layOut(LINK, 80, 24);
    const lines = shown(layout);
    expect(lines.length).toBeLessThanOrEqual(24);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines.filter((line) => line.includes(LINK))).toHaveLength(1);
    expect(lines.join('\n')).toMatch(/▀▀▀.*1 Open the link.*2 Sign in/s);
    for (const row of [layout.status.row, layout.status.row + 1]) {
      expect(lines[row - 1]?.slice(layout.status.column - 1).trim()).toBe('');
    }
  });

  test.each([
    [79, 23],
    [60, 24],
    [20, 8],
  ])(
    '%p columns and %p rows: no code that would be cut, but the link and the steps',
    (columns, rows) => {
      const text = shown(layOut(LINK, columns, rows)).join('\n');
      expect(text).not.toContain('▀');
      expect(text).toContain(LINK);
      expect(text).toContain('1 Open the link');
    },
  );
});

describe('demo: time left', () => {
  test.each([
    [600_000, '10:00', '10 minutes'],
    [599_001, '10:00', '10 minutes'],
    [61_000, '1:01', '1 minute'],
    [59_000, '0:59', '59 seconds'],
    [1_000, '0:01', '1 second'],
    [-5, '0:00', '0 seconds'],
    [3_600_000, '60:00', '1 hour'],
    [7_200_000, '120:00', '2 hours'],
  ])('%p ms are %p and %p', (leftMs, clock, duration) => {
    expect(clockText(leftMs)).toBe(clock);
    expect(durationText(leftMs)).toBe(duration);
  });

  test('the bar is whole at first, empty at the end, and always as long', () => {
    expect(barText(600, 600, 4)).toBe('━━━━');
    expect(barText(300, 600, 4)).toBe('━━┄┄');
    expect(barText(-1, 600, 4)).toBe('┄┄┄┄');
  });
});
