/** What `login` draws: a code that scans, a screen that fits, times in plain words. */
import { describe, expect, test } from 'bun:test';
import { stripVTControlCharacters } from 'node:util';
import { describeLink } from '../../src/cli/login/screen.ts';
import { clockText, renderQr } from '../../src/cli/terminal.ts';
import { scanTerminal } from '../kit/qr.ts';

const SHOWN = {
  link: 'https://sign-in.relay.example/L/BCDF-GHJK',
  verificationUrl: 'https://sign-in.relay.example/link',
  userCode: 'BCDF-GHJK',
  expiresIn: 600,
  qr: undefined,
  secondsLeft: () => 600,
};

/** A prompt of a relay without user codes, which has only its long link. */
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

describe('login: what is below the title', () => {
  test.each([
    [120, 40],
    [80, 24],
    [46, 40],
    [40, 24],
  ])('%i columns, %i rows: the whole code is on the screen, and scans', (columns, rows) => {
    for (const shown of [SHOWN, LONG]) {
      const [, ...lines] = plain(describeLink('mal', shown, columns, rows));
      const code = lines.filter((line) => /[▀▄█]/.test(line));
      const text = lines.filter((line) => !code.includes(line) && line.trim() !== '');
      expect(text.map((line) => line.trim())).toEqual([
        shown.link,
        ...(shown.userCode ? [`Or type ${shown.userCode} at ${shown.verificationUrl}`] : []),
      ]);
      if (columns === 40 && shown === LONG) continue;
      const used = lines.map((line) => Math.ceil(line.length / columns));
      // And the countdown.
      expect(used.reduce((sum, each) => sum + Math.max(1, each), 1)).toBeLessThanOrEqual(rows);
      expect(Math.max(...code.map((line) => line.length))).toBeLessThanOrEqual(columns);
      const blank = ' '.repeat(columns);
      const scanned = scanTerminal([blank, blank, ...code, blank, blank]);
      expect(scanned?.toLowerCase()).toBe(shown.link.toLowerCase());
    }
  });

  test.each([
    [80, 20],
    [30, 40],
  ])('%i columns, %i rows: no code that would be cut', (columns, rows) => {
    const shown = plain(describeLink('mal', LONG, columns, rows));
    expect(shown).toEqual(['  Sign in to mal: open the link in any browser.', `  ${LONG.link}`]);
  });
});

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
