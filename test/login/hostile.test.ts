/** `login` against a relay, a proxy or a network that does harm: nothing of it reaches the terminal as it is, and everything ends. */
import { describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import fc from 'fast-check';
import { EXIT_CODES } from '../../src/cli/login/options.ts';
import { jsonText, printable } from '../../src/cli/terminal.ts';
import { newFolder } from '../kit/folder.ts';
import { startChild } from '../kit/process.ts';
import { serveUpstream } from '../kit/provider.ts';
import { INVISIBLE, property, TERMINAL_SEQUENCES } from '../kit/random.ts';
import { MAIN } from '../kit/relay.ts';
import { CTRL_C, startInTerminal } from '../kit/terminal.ts';

const HARM = `${TERMINAL_SEQUENCES.join('')}${INVISIBLE.join('')}`;

const STARTED = {
  session: 'A'.repeat(24),
  url: 'https://relay.test/auth/mal?state=BBBBBBBBBBBBBBBBBBBBBBBB',
  expiresIn: 600,
  link: 'https://relay.test/L/BCDF-GHJK',
  userCode: 'BCDF-GHJK',
};

type Answer = () => Response | Promise<Response>;

/** A relay that gives these answers to a poll, and to an acknowledgement or a cancellation. */
function serve(polled: Answer, ended: Answer = () => new Response(null, { status: 204 })) {
  return serveUpstream(({ url }) => {
    const { pathname, search } = new URL(url);
    if (pathname === '/services') {
      return Response.json({ services: [], extensions: ['wait', 'progress', 'cancel'] });
    }
    if (pathname === '/auth/start') return Response.json(STARTED);
    return /&(ack|cancel)=1$/.test(search) ? ended() : polled();
  });
}

const folder = newFolder();

const command = (relay: string) =>
  [process.execPath, MAIN, 'login', 'mal', '--relay', relay, '--tokens', folder] as const;

const ENV = { NO_PROXY: '127.0.0.1' };

/** Whether it would deceive a terminal, or its reader. */
const isHarmful = (text: string) => /[^\n\r\P{C}]|[\u2028\u2029]/u.test(text);

/** Removes the sequences that the screen of `login` itself uses. */
const withoutDrawing = (text: string) => text.replace(/\p{Cc}\[[?\d;]*[Km]/gu, '');

test('login: what a relay sends is text, also on the screen that it draws', async () => {
  const pages = [
    new Response('<html>Welcome to the hotel', { headers: { 'Content-Type': 'text/html' } }),
    new Response(HARM, { status: 500 }),
  ];
  const failed = () => Response.json({ error: HARM });
  using relay = serve(() => pages.shift() ?? failed());
  const terminal = startInTerminal(command(relay.origin));
  expect(await terminal.exited).toBe(EXIT_CODES.failed);
  const drawn = withoutDrawing(terminal.output());
  expect(drawn).toContain('A website or a proxy answered');
  expect(drawn).toContain('The relay answered 500');
  expect(isHarmful(drawn)).toBe(false);
});

test('login: Ctrl-C cancels, and waits for no answer; the countdown is removed', async () => {
  const never: Answer = () => new Promise(() => {});
  using relay = serve(never, never);
  const terminal = startInTerminal(command(relay.origin));
  await terminal.untilShown('Waiting for you');
  terminal.type(CTRL_C);
  expect(await terminal.exited).toBe(EXIT_CODES.interrupted);
  expect(relay.requests.at(-1)?.path).toEndWith('&cancel=1');
  const after = terminal.output().split('\r\x1b[K').at(-1);
  expect(after).toBe('Stopped. The sign-in was cancelled.\r\n');
});

test('login: a disk that takes a part of the tokens: no acknowledgement, no half file', async () => {
  using relay = serve(() => Response.json({ accessToken: 'a'.repeat(5_000) }));
  // The first write stops at 1 KiB, and the next one fails.
  const limited = `trap '' XFSZ; ulimit -f 2; exec "$@"`;
  const child = startChild(['sh', '-c', limited, 'login', ...command(relay.origin)], { env: ENV });
  expect(await child.exited).toBe(EXIT_CODES.storage);
  expect(child.output()).toContain('The storage failed to write: EFBIG');
  // The unfinished sign-in, which another start may go on with.
  const own = readdirSync(folder).filter((name) => name.includes(String(relay.port)));
  expect(own).toEqual([expect.stringMatching(/^unfinished-/)]);
  expect(relay.requests.filter(({ path }) => path.endsWith('&ack=1'))).toEqual([]);
});

describe('terminal: text of others', () => {
  test('is one line of bounded length, with nothing invisible in it, whatever it was', () => {
    const own = ['Ж', '👩‍👩‍👧', ' ', 'x'.repeat(900)];
    const pieces = fc.constantFrom(...TERMINAL_SEQUENCES, ...INVISIBLE, ...own);
    const texts = fc.array(fc.oneof(pieces, fc.string({ unit: 'binary' })));
    property(texts, (all) => {
      const text = all.join('');
      const shown = printable(text);
      expect(shown).not.toMatch(/[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]/u);
      expect([...shown].length).toBeLessThanOrEqual(1_001);
      const json = jsonText({ text });
      expect(json).toMatch(/^[\n -~]*$/);
      expect(JSON.parse(json)).toEqual({ text });
    });
  });

  test('what can be read stays as it was', () => {
    const text = 'Wohnzimmer – Küche, 居間, 👩‍👩‍👧, \u0915\u094d\u200d\u0937';
    expect(printable(text)).toBe(text);
  });
});
