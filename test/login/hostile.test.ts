/** `login` against a relay, a proxy or a network that does harm: nothing of it reaches the terminal as it is, and everything ends. */
import { afterEach, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { EXIT_CODES } from '../../src/cli/login/options.ts';
import { jsonText, printable } from '../../src/cli/terminal.ts';
import { newFolder } from '../kit/folder.ts';
import { has } from '../kit/needs.ts';
import { runChild, startChild } from '../kit/process.ts';
import { serveBytes, serveUpstream } from '../kit/provider.ts';
import { TERMINAL_SEQUENCES, testSeed, UNSEEN } from '../kit/random.ts';
import { MAIN } from '../kit/relay.ts';
import { CTRL_C, startInTerminal } from '../kit/terminal.ts';

const HARM = `${TERMINAL_SEQUENCES.join('')}${UNSEEN.join('')}`;

const STARTED = {
  session: 'A'.repeat(24),
  url: 'https://relay.test/auth/mal?state=BBBBBBBBBBBBBBBBBBBBBBBB',
  expiresIn: 600,
  link: 'https://relay.test/L/BCDF-GHJK',
  userCode: 'BCDF-GHJK',
};

const servers: ReturnType<typeof serveUpstream>[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.stop();
});

type Answer = () => Response | Promise<Response>;

const start: Answer = () => Response.json(STARTED);
const gone: Answer = () => new Response('gone', { status: 410 });
const done: Answer = () => new Response(null, { status: 204 });

/** A relay that gives these answers to a start, to a poll, and to an acknowledgement or a cancellation. */
function serve({ started = start, polled = gone, ended = done }) {
  const server = serveUpstream(({ url }) => {
    const { pathname, search } = new URL(url);
    if (pathname === '/services') {
      return Response.json({ services: [], extensions: ['wait', 'progress', 'cancel'] });
    }
    if (pathname === '/auth/start') return started();
    return /&(ack|cancel)=1$/.test(search) ? ended() : polled();
  });
  servers.push(server);
  return server;
}

const folder = newFolder();

const command = (relay: string) => [
  ...[process.execPath, MAIN, 'login', 'mal', '--relay', relay],
  ...['--tokens', folder],
];

const ENV = { NO_PROXY: '127.0.0.1' };

/** Whether it would deceive a terminal, or its reader. */
const isHarmful = (text: string) => /[^\n\r\P{C}]|[\u2028\u2029]/u.test(text);

/** Removes the sequences that the screen of `login` itself uses. */
const withoutDrawing = (text: string) => text.replace(/\p{Cc}\[[?\d;]*[Km]/gu, '');

describe('login: what a relay sends is text', () => {
  test.each([
    ['the body of an error', () => new Response(HARM, { status: 400 }), EXIT_CODES.relay],
    ['an error', start, EXIT_CODES.failed],
  ])('%s', async (name, started, exitCode) => {
    const relay = serve({ started, polled: () => Response.json({ error: HARM }) });
    const ended = await runChild(command(relay.origin), { env: ENV });
    expect(ended.exitCode).toBe(exitCode);
    expect(isHarmful(ended.output)).toBe(false);
    if (name === 'the body of an error') expect(ended.output).toContain(']52;c;');
  });

  test('in a terminal too: problems, on the screen that it draws', async () => {
    const pages = [
      new Response('<html>Welcome to the hotel', { headers: { 'Content-Type': 'text/html' } }),
      new Response(HARM, { status: 500 }),
    ];
    const relay = serve({ polled: () => pages.shift() ?? gone() });
    const terminal = startInTerminal(command(relay.origin));
    expect(await terminal.exited).toBe(EXIT_CODES.expired);
    const drawn = withoutDrawing(terminal.output());
    expect(drawn).toContain('A website or a proxy answered');
    expect(drawn).toContain('The relay answered 500');
    expect(isHarmful(drawn)).toBe(false);
  });
});

test('login: Ctrl-C cancels, and waits for no answer; the countdown is removed', async () => {
  const never: Answer = () => new Promise(() => {});
  const relay = serve({ polled: never, ended: never });
  const terminal = startInTerminal(command(relay.origin));
  await terminal.untilShown('Waiting for you');
  terminal.type(CTRL_C);
  expect(await terminal.exited).toBe(EXIT_CODES.interrupted);
  expect(relay.requests.at(-1)?.path).toEndWith('&cancel=1');
  const after = terminal.output().split('\r\x1b[K').at(-1);
  expect(after).toBe('Stopped. The sign-in was cancelled.\r\n');
});

test('login: a disk that takes a part of the tokens: no acknowledgement, no half file', async () => {
  const relay = serve({ polled: () => Response.json({ accessToken: 'a'.repeat(5_000) }) });
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

const residentBytes = (pid: number) =>
  Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024;

const onLinux = test.if(has('Linux', '`login` reads no body without an end'));

onLinux('login: a body without an end, of which little is sent, is not read', async () => {
  let sentBytes = 0;
  let ask = () => {};
  const chunk = Bun.gzipSync(Buffer.alloc(60_000_000));
  using relay = await serveBytes((socket) => {
    ask();
    socket.write('HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n');
    const more = () => {
      while (!socket.destroyed && socket.write(chunk)) sentBytes += chunk.length;
    };
    socket.on('drain', more);
    more();
  });
  let mostBytes = 0;
  const child = startChild(command(relay.origin), { env: ENV });
  ask = () => {
    mostBytes = Math.max(mostBytes, residentBytes(child.pid));
  };
  expect(await child.exited).toBe(EXIT_CODES.relay);
  expect(child.output()).toContain('The relay started no sign-in within 10 seconds.');
  expect(mostBytes).toBeGreaterThan(0);
  expect(mostBytes).toBeLessThan(200_000_000);
  // What is tried in ten seconds, and what the buffers of the sockets hold.
  expect(sentBytes).toBeLessThan(100_000_000);
});

describe('terminal: text of others', () => {
  test('is one line of bounded length, with nothing invisible in it, whatever it was', () => {
    const pieces = fc.constantFrom(
      ...TERMINAL_SEQUENCES,
      ...UNSEEN,
      'Ж',
      '👩‍👩‍👧',
      ' ',
      'x'.repeat(900),
    );
    const texts = fc
      .array(fc.oneof(pieces, fc.string({ unit: 'binary' })))
      .map((all) => all.join(''));
    fc.assert(
      fc.property(texts, (text) => {
        const shown = printable(text);
        expect(shown).not.toMatch(/[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]/u);
        expect([...shown].length).toBeLessThanOrEqual(1_001);
        const json = jsonText({ text });
        expect(json).toMatch(/^[\n -~]*$/);
        expect(JSON.parse(json)).toEqual({ text });
      }),
      { seed: testSeed, numRuns: 100 },
    );
  });

  test('what can be read stays as it was', () => {
    const text = 'Wohnzimmer – Küche, 居間, 👩‍👩‍👧, \u0915\u094d\u200d\u0937';
    expect(printable(text)).toBe(text);
  });
});
