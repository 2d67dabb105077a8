/** The demo as a user starts it, in a pipe and in a terminal; and what it draws there. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { stripVTControlCharacters } from 'node:util';
import { signInAs } from '../../demo/browser.ts';
import { barText, clockText, durationText, layOut, renderQr } from '../../demo/screen.ts';
import { startChild } from '../kit/process.ts';
import { scan } from '../kit/qr.ts';
import { ROOT } from '../kit/relay.ts';
import { failureOf } from '../kit/wait.ts';

setDefaultTimeout(30_000);

const DEMO = [process.execPath, `${ROOT}demo/main.ts`];

function startDemo(command: readonly string[], env = {}) {
  const link = Promise.withResolvers<string>();
  // Not every test needs the link.
  link.promise.catch(() => undefined);
  const child = startChild(command, {
    env,
    onLine(line) {
      const [, found] = /^ {2}(http:\S+)$/.exec(stripVTControlCharacters(line).trimEnd()) ?? [];
      if (found !== undefined) link.resolve(found);
    },
  });
  const ended = child.exited.then((exitCode) => {
    link.reject(new Error(`the demo ended without a link:\n${child.output()}`));
    return { exitCode, output: child.output() };
  });
  return { link: link.promise, ended, kill: child.kill };
}

/** As long as any token, code or state, and longer than any word. */
const USABLE_SECRET = /[\w-]{24,}/;

test('--auto: signs in, shows what arrived but no usable secret, and exits with 0', async () => {
  const { exitCode, output } = await startDemo([...DEMO, '--auto']).ended;
  expect(output).toContain('Demo TV is signed in as Ada');
  expect(output).toContain("the provider takes the access token: it is Ada's");
  expect(output).toContain('410 Session not found');
  expect(output).not.toMatch(USABLE_SECRET);
  expect(exitCode).toBe(0);
});

test('a user opens the link and signs in: the demo names the user, and exits with 0', async () => {
  const demo = startDemo(DEMO);
  const page = await signInAs('Grace', await demo.link, AbortSignal.timeout(20_000));
  expect(page).toMatchObject({ status: 200, title: 'Signed in' });
  const { exitCode, output } = await demo.ended;
  expect(output).toContain('Demo TV is signed in as Grace');
  expect(exitCode).toBe(0);
});

test.each(['SIGINT', 'SIGTERM'] as const)(
  '%s: says so, stops its servers, and exits with 130',
  async (signal) => {
    const demo = startDemo(DEMO);
    const link = await demo.link;
    demo.kill(signal);
    const { exitCode, output } = await demo.ended;
    expect(output).toEndWith('\n  Stopped. Nothing was kept.\n\n');
    expect(exitCode).toBe(130);
    expect(await failureOf(fetch(link))).toBeInstanceOf(Error);
  },
);

test.each([
  ['-h', 0],
  ['--bogus', 1],
])('%s: shows how to use it, and exits with %i', async (option, expected) => {
  const { exitCode, output } = await startDemo([...DEMO, option]).ended;
  expect(output).toContain('npm run demo -- --auto');
  if (expected !== 0) expect(output).toContain(`'${option}'`);
  expect(exitCode).toBe(expected);
});

/** Enters and leaves it. */
const ALTERNATE_SCREEN = new RegExp(`${'\x1b'}\\[\\?1049[hl]`);

test('in a terminal it draws on the alternate screen, and leaves the terminal as it was', async () => {
  // `script` gives it a terminal of 24 rows and 80 columns.
  const inTerminal = `stty rows 24 cols 80; exec ${DEMO.join(' ')}`;
  const demo = startDemo(['script', '-qec', inTerminal, '/dev/null'], { TERM: 'xterm' });
  await signInAs('Grace', await demo.link, AbortSignal.timeout(20_000));
  const { exitCode, output } = await demo.ended;
  const [before = '', screen = '', after = ''] = output.split(ALTERNATE_SCREEN);
  expect(stripVTControlCharacters(before)).toBe('');
  expect(screen).toContain('▀▀▀');
  expect(screen).toContain('Waiting for you');
  expect(after).toContain('Demo TV is signed in as Grace');
  expect(exitCode).toBe(0);
});

/** As long as a link of the demo can be. */
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

/** A scanner needs modules of four pixels. */
function scanModules(modules: readonly boolean[][]): string | undefined {
  const rows = modules.flatMap((row) => {
    const pixels = row.flatMap((isDark) => Array<number>(4).fill(isDark ? 0 : 255));
    return [pixels, pixels, pixels, pixels];
  });
  const rgba = new Uint8ClampedArray(rows.flat().flatMap((level) => [level, level, level, 255]));
  return scan({ widthPx: rows[0]?.length ?? 0, heightPx: rows.length, rgba });
}

describe('the QR code', () => {
  test('its half blocks read as the link, with a quiet zone of four modules', () => {
    const { lines, columns } = renderQr(LINK);
    const modules = readModules(lines);
    // The last character row has one row of modules.
    expect(modules.map((row) => row.length)).toEqual(Array(columns + 1).fill(columns));
    const dark = modules.flatMap((row, y) =>
      row.flatMap((isDark, x) => (isDark ? [{ x, y }] : [])),
    );
    for (const places of [dark.map(({ x }) => x), dark.map(({ y }) => y)]) {
      expect([Math.min(...places), Math.max(...places)]).toEqual([4, columns - 5]);
    }
    expect(scanModules(modules)).toBe(LINK);
  });

  test('every line is black on white, whatever the colours of the terminal', () => {
    for (const line of renderQr(LINK).lines) {
      expect(line).toStartWith('\x1b[38;5;16;48;5;231m');
      expect(line).toEndWith('\x1b[0m');
    }
  });
});

describe('the screen', () => {
  const shown = ({ lines }: { lines: readonly string[] }) => lines.map(stripVTControlCharacters);

  test('80 columns and 24 rows hold the code, the link in one piece, the steps and the countdown', () => {
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
    '%i columns and %i rows: no code, which would be cut, but the link and the steps',
    (columns, rows) => {
      const text = shown(layOut(LINK, columns, rows)).join('\n');
      expect(text).not.toContain('▀');
      expect(text).toContain(LINK);
      expect(text).toContain('1 Open the link');
    },
  );
});

describe('the time left', () => {
  test.each([
    [600_000, '10:00', '10 minutes'],
    [599_001, '10:00', '10 minutes'],
    [61_000, '1:01', '1 minute'],
    [59_000, '0:59', '59 seconds'],
    [1_000, '0:01', '1 second'],
    [-5, '0:00', '0 seconds'],
    [3_600_000, '60:00', '1 hour'],
    [7_200_000, '120:00', '2 hours'],
  ])('%i ms are %s and %s', (leftMs, clock, duration) => {
    expect(clockText(leftMs)).toBe(clock);
    expect(durationText(leftMs)).toBe(duration);
  });

  test('the bar is full at first, empty at the end, and keeps its length', () => {
    expect(barText(600, 600, 4)).toBe('━━━━');
    expect(barText(300, 600, 4)).toBe('━━┄┄');
    expect(barText(-1, 600, 4)).toBe('┄┄┄┄');
  });
});
