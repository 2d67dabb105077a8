/** `login` against a relay, a proxy or a network that does harm: nothing of it reaches the terminal as it is, and everything ends. */
import { afterEach, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import fc from 'fast-check';
import { EXIT_CODES } from '../../src/cli/login/options.ts';
import { jsonText, printable } from '../../src/cli/terminal.ts';
import { newFolder } from '../kit/folder.ts';
import { has } from '../kit/needs.ts';
import { startChild } from '../kit/process.ts';
import { serveBytes } from '../kit/provider.ts';
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

const servers: Disposable[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server[Symbol.dispose]();
});

/** Writes what the test says, byte by byte, to each client. */
async function serve(answer: (path: string, socket: Socket) => void): Promise<string> {
  const asked = new WeakMap<Socket, string>();
  const server = await serveBytes((socket, _, part) => {
    const text = (asked.get(socket) ?? '') + part;
    const [head = '', body] = text.split('\r\n\r\n');
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    const isWhole = body !== undefined && body.length >= length;
    asked.set(socket, isWhole ? '' : text);
    if (isWhole) answer(/^\w+ (\S+)/.exec(head)?.[1] ?? '', socket);
  });
  servers.push(server);
  return server.origin;
}

const respond = (status: number, body: string, headers = '') =>
  `HTTP/1.1 ${status} x\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${headers}Connection: close\r\n\r\n${body}`;

/** What it offers, a start, each poll, and the last request. */
function answerTo(path: string, started: string, polled: string): string {
  if (path === '/services') return OFFER;
  if (path === '/auth/start') return started;
  return /&(ack|cancel)=1$/.test(path) ? respond(204, '') : polled;
}

const OFFER = respond(
  200,
  JSON.stringify({ services: [], extensions: ['wait', 'progress', 'cancel'] }),
);

const serveAnswers = (started: string, polled = respond(410, 'gone')) =>
  serve((path, socket) => void socket.end(answerTo(path, started, polled)));

const folder = newFolder();

const command = (relay: string) => [
  ...[process.execPath, MAIN, 'login', 'mal', '--relay', relay],
  ...['--tokens', folder],
];

async function runLogin(relay: string) {
  const child = startChild(command(relay), { env: { NO_PROXY: '127.0.0.1' } });
  const exitCode = await child.exited;
  return { exitCode, output: child.output() };
}

/** Whether it would deceive a terminal, or its reader. */
const isHarmful = (text: string) => /[^\n\r\P{C}]|[\u2028\u2029]/u.test(text);

/** Removes the sequences that the screen of `login` itself uses. */
const withoutDrawing = (text: string) => text.replace(/\p{Cc}\[[?\d;]*[Km]/gu, '');

describe('login: what a relay sends is text', () => {
  test.each([
    ['the body of an error', respond(400, HARM), EXIT_CODES.relay],
    ['an error', respond(200, JSON.stringify(STARTED)), EXIT_CODES.failed],
  ])('%s', async (name, started, exitCode) => {
    const polled = respond(200, JSON.stringify({ error: HARM }));
    const ended = await runLogin(await serveAnswers(started, polled));
    expect(ended.exitCode).toBe(exitCode);
    expect(isHarmful(ended.output)).toBe(false);
    if (name === 'the body of an error') expect(ended.output).toContain(']52;c;');
  });

  test('in a terminal too: problems, on the screen that it draws', async () => {
    let polls = 0;
    const relay = await serve((path, socket) => {
      polls += path.startsWith('/auth/result') ? 1 : 0;
      const page = respond(200, '<html>Welcome to the hotel', 'Content-Type: text/html\r\n');
      const polled = [page, respond(500, HARM)][polls - 1] ?? respond(410, '');
      socket.end(answerTo(path, respond(200, JSON.stringify(STARTED)), polled));
    });
    const terminal = startInTerminal(command(relay));
    expect(await terminal.exited).toBe(EXIT_CODES.expired);
    const drawn = withoutDrawing(terminal.output());
    expect(drawn).toContain('A website or a proxy answered');
    expect(drawn).toContain('The relay answered 500');
    expect(isHarmful(drawn)).toBe(false);
  });
});

test('login: Ctrl-C cancels, and waits for no answer; the countdown is removed', async () => {
  let isCancelled = false;
  const relay = await serve((path, socket) => {
    if (path.endsWith('&cancel=1')) isCancelled = true;
    else if (!path.includes('&wait=')) {
      socket.end(answerTo(path, respond(200, JSON.stringify(STARTED)), ''));
    }
  });
  const terminal = startInTerminal(command(relay));
  await terminal.untilShown('Waiting for you');
  terminal.type(CTRL_C);
  expect(await terminal.exited).toBe(EXIT_CODES.interrupted);
  expect(isCancelled).toBe(true);
  const after = terminal.output().split('\r\x1b[K').at(-1);
  expect(after).toBe('Stopped. The sign-in was cancelled.\r\n');
});

test('login: a disk that takes a part of the tokens: no acknowledgement, no half file', async () => {
  const asked: string[] = [];
  const tokens = JSON.stringify({ accessToken: 'a'.repeat(5_000) });
  const relay = await serve((path, socket) => {
    asked.push(path);
    socket.end(answerTo(path, respond(200, JSON.stringify(STARTED)), respond(200, tokens)));
  });
  // The first write stops at 1 KiB, and the next one fails.
  const limited = `trap '' XFSZ; ulimit -f 2; exec "$@"`;
  const child = startChild(['sh', '-c', limited, 'login', ...command(relay)], {
    env: { NO_PROXY: '127.0.0.1' },
  });
  expect(await child.exited).toBe(EXIT_CODES.storage);
  expect(child.output()).toContain('The storage failed to write: EFBIG');
  // The unfinished sign-in, which another start may go on with.
  const own = readdirSync(folder).filter((name) => name.includes(new URL(relay).port));
  expect(own).toEqual([expect.stringMatching(/^unfinished-/)]);
  expect(asked.filter((path) => path.endsWith('&ack=1'))).toEqual([]);
});

const residentBytes = (pid: number) =>
  Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024;

const onLinux = test.if(has('Linux', '`login` reads no body without an end'));

onLinux('login: a body without an end, of which little is sent, is not read', async () => {
  let sentBytes = 0;
  let ask = () => {};
  const chunk = Bun.gzipSync(Buffer.alloc(60_000_000));
  const relay = await serve((_path, socket) => {
    ask();
    socket.write('HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n');
    const more = () => {
      while (!socket.destroyed && socket.write(chunk)) sentBytes += chunk.length;
    };
    socket.on('drain', more);
    more();
  });
  let mostBytes = 0;
  const child = startChild(command(relay), { env: { NO_PROXY: '127.0.0.1' } });
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
