/** `login` against a relay, a proxy or a network that does harm: nothing of it reaches the terminal as it is, and everything ends. */
import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import fc from 'fast-check';
import { EXIT_CODES, login } from '../../src/cli/login/command.ts';
import { jsonText, printable } from '../../src/cli/terminal.ts';
import { startChild } from '../kit/process.ts';
import { testSeed, UNSEEN } from '../kit/random.ts';
import { MAIN } from '../kit/relay.ts';
import { startInTerminal } from '../kit/terminal.ts';

setDefaultTimeout(60_000);

/** Sets the clipboard, sets the title, asks where the cursor is, clears the screen, in C0 and in C1. */
const SEQUENCES = [
  '\x1b]52;c;cm0gLXJmIH4K\x07',
  '\x1b]0;title\x1b\\',
  '\x1b[6n',
  '\x1b[2J',
  '\x9b2J',
  '\x9d52;c;eA==\x9c',
  '\x90q\x9c',
  '\x08\x7f\r\n',
];
const HARM = `${SEQUENCES.join('')}${UNSEEN.join('')}`;

const STARTED = {
  session: 'A'.repeat(24),
  url: 'https://relay.test/auth/mal?state=BBBBBBBBBBBBBBBBBBBBBBBB',
  expiresIn: 600,
  link: 'https://relay.test/L/BCDF-GHJK',
  userCode: 'BCDF-GHJK',
};

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** Writes what the test says, byte by byte, to each client. */
function serve(answer: (path: string, socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    let asked = '';
    socket.on('data', (part) => {
      asked += part.toString('latin1');
      const [head = '', body] = asked.split('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (body === undefined || body.length < length) return;
      asked = '';
      answer(/^\w+ (\S+)/.exec(head)?.[1] ?? '', socket);
    });
  });
  servers.push(server);
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      resolve(`http://127.0.0.1:${port}`);
    });
  });
}

const respond = (status: number, body: string, headers = '') =>
  `HTTP/1.1 ${status} x\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${headers}Connection: close\r\n\r\n${body}`;

/** A start, and then each poll. */
const serveAnswers = (started: string, polled = respond(410, 'gone')) =>
  serve((path, socket) => void socket.end(path === '/auth/start' ? started : polled));

const command = (relay: string) => [process.execPath, MAIN, 'login', 'mal', '--relay', relay];

async function runLogin(relay: string) {
  const child = startChild(command(relay), { env: { NO_PROXY: '127.0.0.1' } });
  const exitCode = await child.exited;
  return { exitCode, output: child.output() };
}

/** Whether it would deceive a terminal, or its reader. */
const isHarmful = (text: string) => /[^\n\r\P{C}]|[\u2028\u2029]/u.test(text);

/** Without the sequences that the screen of `login` itself uses. */
const withoutDrawing = (text: string) => text.replace(/\p{Cc}\[[?\d;]*[HJhlm]/gu, '');

describe('login: what a relay sends is text', () => {
  test.each([
    ['the body of an error', respond(400, HARM), EXIT_CODES.relay],
    ['a redirect', respond(302, '', 'Location: https://x/\x9d52;c;eA==\x9c\r\n'), EXIT_CODES.relay],
    ['an error', respond(200, JSON.stringify(STARTED)), EXIT_CODES.failed],
  ])('%s', async (name, started, exitCode) => {
    const polled = respond(200, JSON.stringify({ error: HARM }));
    const ended = await runLogin(await serveAnswers(started, polled));
    expect(ended.exitCode).toBe(exitCode);
    expect(isHarmful(ended.output)).toBe(false);
    if (name === 'the body of an error') expect(ended.output).toContain('<U+001B>]52;c;');
  });

  test('in a terminal too: trouble, on the screen that it draws', async () => {
    let polls = 0;
    const relay = await serve((path, socket) => {
      const isStart = path === '/auth/start';
      polls += isStart ? 0 : 1;
      const polled = polls < 3 ? respond(500, HARM) : respond(410, '');
      socket.end(isStart ? respond(200, JSON.stringify(STARTED)) : polled);
    });
    const terminal = startInTerminal(command(relay));
    expect(await terminal.exited).toBe(EXIT_CODES.expired);
    const drawn = withoutDrawing(terminal.output());
    expect(drawn).toContain('the relay answered 500');
    expect(isHarmful(drawn)).toBe(false);
    expect(terminal.output()).not.toContain(']0;title');
  });

  test('tokens: the JSON is the same, and in ASCII', async () => {
    const tokens = { accessToken: `a${HARM}`, refreshToken: 'Ж' };
    const relay = await serveAnswers(
      respond(200, JSON.stringify(STARTED)),
      respond(200, JSON.stringify({ ...tokens, deep: [[[]]] })),
    );
    const { exitCode, output } = await runLogin(relay);
    expect(exitCode).toBe(0);
    expect(isHarmful(output)).toBe(false);
    const written = /\{.*\}/s.exec(output)?.[0] ?? '';
    expect(JSON.parse(written)).toEqual(JSON.parse(JSON.stringify(tokens)));
  });

  test.each(['something_new', '__proto__', 'constructor', 'toString', 'expired', ''])(
    'the error %p is a sign-in that failed',
    async (error) => {
      const polled = respond(200, `{"error":${JSON.stringify(error)}}`);
      const relay = await serveAnswers(respond(200, JSON.stringify(STARTED)), polled);
      const { exitCode, output } = await runLogin(relay);
      expect([exitCode, output]).toEqual([
        EXIT_CODES.failed,
        expect.stringContaining('The provider did not sign the user in. Try again.\n'),
      ]);
    },
  );
});

describe('login: an invalid response to a start → 6, and which member', () => {
  test.each([
    ['link', 'a script', 'javascript:alert(1)'],
    ['link', 'a file', 'file:///etc/passwd'],
    [
      'link',
      'a user name that looks like a host',
      'https://relay.example@evil.example/L/BCDF-GHJK',
    ],
    ['link', 'longer than any link', `https://relay.test/${'a'.repeat(4_000)}`],
    ['link', 'a list', ['https://relay.test/']],
    ['url', 'of an app', 'x-app://relay.test'],
    ['userCode', 'a code and more', 'BCDF-GHJK\x1b[2J'],
    ['userCode', 'a sentence', 'call +1 555 0100'],
    ['userCode', 'a number', 7],
    ['expiresIn', 'text', '600'],
    ['expiresIn', 'at once', 0],
    ['expiresIn', 'negative', -1],
    ['expiresIn', 'more than a day', 86_401],
    ['session', 'empty', ''],
    ['session', 'halves of characters, which no query takes', '\ud800'.repeat(24)],
  ])('%s: %s', async (member, _, value) => {
    const relay = await serveAnswers(respond(200, JSON.stringify({ ...STARTED, [member]: value })));
    const { exitCode, output } = await runLogin(relay);
    expect(exitCode).toBe(EXIT_CODES.relay);
    expect(output).toStartWith(`The relay sent an invalid response: its "${member}" is not a `);
  });

  test('expiresIn: 1e999', async () => {
    const started = JSON.stringify(STARTED).replace(':600', ':1e999');
    const { exitCode, output } = await runLogin(await serveAnswers(respond(200, started)));
    expect(exitCode).toBe(EXIT_CODES.relay);
    expect(output).not.toContain('Infinity');
  });

  test('letters of other scripts in a link are written as browsers send them', async () => {
    const link = `https://relay.test/\u202Ekcatta/${UNSEEN.join('')}`;
    const relay = await serveAnswers(respond(200, JSON.stringify({ ...STARTED, link })));
    const { output } = await runLogin(relay);
    expect(output).toContain('https://relay.test/%E2%80%AEkcatta/');
    expect(isHarmful(output)).toBe(false);
  });
});

test('login: a redirect is not followed, and the session goes nowhere else', async () => {
  const asked: string[] = [];
  const other = await serve((path, socket) => {
    asked.push(path);
    socket.end(respond(200, '{}'));
  });
  const relay = await serve((path, socket) => {
    socket.end(respond(307, '', `Location: ${other}${path}\r\n`));
  });
  const { exitCode, output } = await runLogin(relay);
  expect([exitCode, asked]).toEqual([EXIT_CODES.relay, []]);
  expect(output).toContain(`the relay answered 307 and redirects to ${other}/auth/start`);
});

test('login: a captive portal, a proxy, a relay that restarts: it polls on until there are tokens', async () => {
  const tokens = { accessToken: 'token', refreshToken: 'another' };
  const polls = [
    respond(200, '<html>Welcome to the hotel</html>'),
    respond(502, 'bad gateway'),
    respond(429, 'slow down', 'Retry-After: 1\r\n'),
    respond(204, ''),
    respond(200, JSON.stringify(tokens)),
  ];
  // Without codes, as an old relay: the long link is what there is.
  const { session, url, expiresIn } = STARTED;
  const asked: string[] = [];
  const relay = await serve((path, socket) => {
    asked.push(path);
    const started = respond(200, JSON.stringify({ session, url, expiresIn }));
    socket.end(path === '/auth/start' ? started : (polls.shift() ?? respond(204, '')));
  });
  const { exitCode, output } = await runLogin(relay);
  expect(exitCode).toBe(0);
  expect(output).toContain(JSON.stringify(tokens, null, 2));
  expect(output).toContain(url);
  expect(asked.at(-1)).toBe(`/auth/result?session=${session}&ack=1`);
});

const residentBytes = (pid: number) =>
  Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024;

test.each([
  ['as it is', ''],
  ['compressed', 'Content-Encoding: gzip\r\n'],
])('login: a body without an end is not read, %s', async (_, headers) => {
  let sentBytes = 0;
  let ask = () => {};
  const chunk = headers === '' ? Buffer.alloc(65_536, 'a') : Bun.gzipSync(Buffer.alloc(60_000_000));
  const relay = await serve((_path, socket) => {
    ask();
    socket.write(`HTTP/1.1 200 OK\r\n${headers}\r\n`);
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
  expect(child.output()).toContain('cannot be reached');
  expect(mostBytes).toBeGreaterThan(0);
  expect(mostBytes).toBeLessThan(200_000_000);
  // Five tries, and what the buffers of the sockets hold.
  expect(sentBytes).toBeLessThan(100_000_000);
});

/** Answers of every kind: what a relay sends, with members of other types, broken, cut, and what no relay sends. */
const answers = (() => {
  const value = fc.oneof(
    fc.constantFrom<unknown>(HARM, '', null, 0, -1, 1e308, [], {}, { toString: 1 }, ...SEQUENCES),
    fc.string({ unit: 'binary' }),
    fc.jsonValue(),
  );
  const members = ['session', 'url', 'link', 'userCode', 'expiresIn', 'accessToken', 'error'];
  const odd = ['progress', '__proto__', 'constructor', 'toString', 'then'];
  const base = fc.constantFrom<object>(
    ...[STARTED, { ...STARTED, expiresIn: 0.5 }, { progress: 'opened' }, { accessToken: 'token' }],
    ...[{ error: 'access_denied' }, { error: 'something_new' }, {}],
  );
  const changed = fc
    .tuple(base, fc.array(fc.tuple(fc.constantFrom(...members, ...odd), value), { maxLength: 2 }))
    .map(([whole, changes]) => JSON.stringify({ ...whole, ...Object.fromEntries(changes) }));
  const body = fc.oneof(
    { weight: 6, arbitrary: base.map((whole) => JSON.stringify(whole)) },
    { weight: 6, arbitrary: changed },
    fc.constantFrom('', HARM, 'null', '[]', '{"expiresIn":1e999}', '['.repeat(100_000)),
    fc.constantFrom(`{"accessToken":"a","x":${'['.repeat(50_000)}${']'.repeat(50_000)}}`),
    fc.constantFrom(
      `{"accessToken":"${'a'.repeat(500_000)}"}`,
      '{"__proto__":{"accessToken":"a"}}',
    ),
    fc.string({ unit: 'binary' }),
  );
  const statuses = [
    0, 100, 101, 103, 199, 204, 299, 301, 304, 307, 400, 404, 410, 429, 500, 503, 999,
  ];
  const status = fc.oneof({ weight: 3, arbitrary: fc.constant(200) }, fc.constantFrom(...statuses));
  const header = fc.constantFrom(
    ...['-1', '0', '1e9', 'Infinity', '1e999', '-Infinity', 'x'].map(
      (text) => `Retry-After: ${text}`,
    ),
    ...['gzip', 'br', 'zstd', 'nonsense'].map((text) => `Content-Encoding: ${text}`),
    ...['Transfer-Encoding: chunked', 'Content-Length: 5', 'Connection: keep-alive', 'X: \x9b2J'],
    ...['Location: /', 'Location: //', 'Location: \x9d52;c;eA==\x9c', 'Location: http://%x/', 'Y'],
  );
  return fc
    .tuple(status, fc.array(header, { maxLength: 2 }), body, fc.integer({ min: 0, max: 400 }))
    .map(([code, headers, text, part]) => {
      const whole = respond(code, text, headers.map((line) => `${line}\r\n`).join(''));
      return whole.slice(0, Math.ceil((whole.length * part) / 100));
    });
})();

/** Pauses take no time, but the clock advances as if they had. Returns them, and what restores time. */
function skipPauses() {
  const { setTimeout: realSetTimeout } = globalThis;
  const realNow = performance.now.bind(performance);
  const pausesMs: number[] = [];
  let skippedMs = 0;
  globalThis.setTimeout = ((run: () => void, ms: number) => {
    pausesMs.push(ms);
    skippedMs += ms;
    return realSetTimeout(run, 0);
  }) as typeof setTimeout;
  performance.now = () => realNow() + skippedMs;
  return {
    pausesMs,
    restore() {
      globalThis.setTimeout = realSetTimeout;
      performance.now = realNow;
    },
  };
}

/** Runs `login` in this process. Its output is what it wrote, without what it drew itself. */
async function runHere(relay: string, isTerminal: boolean) {
  const { stdout, stderr } = process;
  const [realWrite, realErrorWrite, isTTY] = [stdout.write, stderr.write, stderr.isTTY];
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const listeners = signals.map((signal) => process.listeners(signal));
  let output = '';
  stdout.write = stderr.write = ((text: string, written?: () => void) => {
    output += text;
    written?.();
    return true;
  }) as typeof stdout.write;
  Object.assign(stderr, { isTTY: isTerminal, columns: 80, rows: 24 });
  try {
    const exitCode = await login(['mal', '--relay', relay]);
    return { exitCode, output: withoutDrawing(output) };
  } finally {
    Object.assign(stdout, { write: realWrite });
    Object.assign(stderr, { write: realErrorWrite, isTTY });
    for (const [index, signal] of signals.entries()) {
      for (const each of process.listeners(signal)) {
        if (!listeners[index]?.includes(each)) process.off(signal, each);
      }
    }
  }
}

test('login: whatever a relay answers, it ends with an exit code, and harms no terminal', async () => {
  const runs = fc.sample(fc.array(answers, { minLength: 1, maxLength: 6 }), {
    seed: testSeed,
    numRuns: 1_000,
  });
  let left: string[] = [];
  const relay = await serve((_path, socket) => void socket.end(left.shift() ?? respond(410, '')));
  const codes = new Map<number, number>();
  const { pausesMs, restore } = skipPauses();
  try {
    for (const [index, run] of runs.entries()) {
      // Half of them get as far as to the polls.
      left = [...(index % 2 === 0 ? [respond(200, JSON.stringify(STARTED))] : []), ...run];
      const { exitCode, output } = await runHere(relay, index % 3 === 0);
      codes.set(exitCode, (codes.get(exitCode) ?? 0) + 1);
      if (isHarmful(output)) throw new Error(`run ${index} wrote ${JSON.stringify(output)}`);
    }
  } finally {
    restore();
  }
  expect([...codes.keys()].sort()).toEqual([0, 3, 4, 5, 6]);
  expect(Math.max(...pausesMs)).toBeLessThanOrEqual(60_000);
  expect(pausesMs.length).toBeGreaterThan(1_000);
});

test.each([
  ['7', 7_000],
  ['-1', 1_000],
  ['0', 2_000],
  ['soon', 2_000],
  ['1e9', 60_000],
  ['Infinity', 60_000],
])('login: Retry-After: %s → it waits %i ms', async (header, pauseMs) => {
  const busy = respond(503, '', `Retry-After: ${header}\r\n`);
  const relay = await serve((_path, socket) => void socket.end(busy));
  const { pausesMs, restore } = skipPauses();
  try {
    expect((await runHere(relay, false)).exitCode).toBe(EXIT_CODES.relay);
  } finally {
    restore();
  }
  expect(pausesMs).toEqual(Array(4).fill(pauseMs));
});

describe('terminal: text of others', () => {
  test('is one line of bounded length, with nothing invisible in it, whatever it was', () => {
    const pieces = fc.constantFrom(...SEQUENCES, ...UNSEEN, 'Ж', '👩‍👩‍👧', ' ', 'x'.repeat(900));
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
      { seed: testSeed, numRuns: 500 },
    );
  });

  test('what can be read stays as it was', () => {
    const text = 'Wohnzimmer – Küche, 居間, 👩‍👩‍👧, \u0915\u094d\u200d\u0937';
    expect(printable(text)).toBe(text);
  });
});
