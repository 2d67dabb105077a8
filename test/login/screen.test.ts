/** What `login` draws: a code that scans, a screen that fits, times in plain words. */
import { describe, expect, test } from 'bun:test';
import { stripVTControlCharacters } from 'node:util';
import { layOut } from '../../src/cli/login/screen.ts';
import { barText, clockText, renderQr } from '../../src/cli/terminal.ts';
import { scanTerminal } from '../kit/qr.ts';

const SHOWN = {
  service: 'mal',
  link: 'https://sign-in.relay.example/L/BCDF-GHJK',
  verificationUrl: 'https://sign-in.relay.example/link',
  userCode: 'BCDF-GHJK',
  expiresIn: 600,
  secondsLeft: () => 600,
};

/** Without codes: a relay that has none gives out only its long link. */
const LONG = {
  ...SHOWN,
  userCode: undefined,
  verificationUrl: undefined,
  link: 'https://sign-in.relay.example/auth/mal?state=ABCDEFGHIJKLMNOPQRSTUVWX',
};

const plain = (lines: readonly string[]) => lines.map(stripVTControlCharacters);

describe('terminal: QR code', () => {
  test('shows what a scanner reads, with a quiet zone of four modules', () => {
    const { lines, columns } = renderQr(SHOWN.link);
    const cells = plain(lines);
    expect(cells.map((line) => line.length)).toEqual(lines.map(() => columns));
    expect(cells.slice(0, 2).join('').trim()).toBe('');
    expect(cells.every((line) => line.slice(0, 4).trim() === '')).toBe(true);
    expect(scanTerminal(cells)).toBe(SHOWN.link);
  });

  test('every line is black on white by itself, whatever the terminal has', () => {
    for (const line of renderQr(SHOWN.link).lines) {
      expect(line).toStartWith('\x1b[38;5;16;48;5;231m');
      expect(line).toEndWith('\x1b[0m');
    }
  });
});

describe('login: screen', () => {
  const SIZES = [
    [120, 40],
    [80, 24],
    [80, 20],
    [46, 40],
    [40, 30],
  ] as const;

  test.each(SIZES)(
    '%i columns, %i rows: nothing wraps or scrolls, and the code scans',
    (columns, rows) => {
      const { lines, status } = layOut(SHOWN, columns, rows);
      const shown = plain(lines);
      expect(shown.length).toBeLessThanOrEqual(rows);
      const tooWide = shown.filter((line) => line.length > columns && !line.includes(SHOWN.link));
      expect(tooWide).toEqual([]);
      const text = shown.join('\n');
      expect(text).toContain(SHOWN.link);
      expect(text).toContain(SHOWN.userCode);
      // Where the countdown goes there is nothing else.
      for (const row of [status.row, status.row + 1]) {
        expect(shown[row - 1]?.slice(status.column - 1).trim()).toBe('');
      }
      expect(status.row + 1).toBeLessThanOrEqual(rows);
      if (!/[▀▄█]/.test(text)) return;
      const code = shown
        .filter((line) => /[▀▄█]/.test(line))
        .map((line) => line.replace(/[^▀▄█ ].*$/, ''));
      const blank = ' '.repeat(columns);
      expect(scanTerminal([blank, blank, ...code, blank, blank])?.toLowerCase()).toBe(
        SHOWN.link.toLowerCase(),
      );
    },
  );

  test('80 columns and 24 rows show the code, also of a long link', () => {
    for (const shown of [SHOWN, LONG])
      expect(plain(layOut(shown, 80, 24).lines).join('')).toContain('▀');
  });

  test.each([
    [30, 12],
    [10, 4],
  ])('%i columns, %i rows: no code that would be cut, but the link first', (columns, rows) => {
    const { lines, status } = layOut(SHOWN, columns, rows);
    const shown = plain(lines);
    expect(shown.join('')).not.toMatch(/[▀▄█]/);
    expect(status.row).toBe(2);
    const used = shown.reduce(
      (sum, line) => sum + Math.max(1, Math.ceil(line.length / columns)),
      0,
    );
    expect(used).toBeLessThanOrEqual(rows);
  });
});

describe('terminal: time left', () => {
  test.each([
    [600_000, '10:00'],
    [599_001, '10:00'],
    [61_000, '1:01'],
    [1_000, '0:01'],
    [-5, '0:00'],
    [3_600_000, '60:00'],
  ])('%p ms are %p', (leftMs, clock) => {
    expect(clockText(leftMs)).toBe(clock);
  });

  test('the bar is whole at first, empty at the end, and always as long', () => {
    expect(barText(600, 600, 4)).toBe('━━━━');
    expect(barText(300, 600, 4)).toBe('━━┄┄');
    expect(barText(-1, 600, 4)).toBe('┄┄┄┄');
  });
});
