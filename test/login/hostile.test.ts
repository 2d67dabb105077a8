/** `login` against a relay, a proxy or a network that does harm: nothing of it reaches the terminal as it is, and everything ends. */
import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { login } from '../../src/cli/login/command.ts';
import { EXIT_CODES } from '../../src/cli/login/options.ts';
import { jsonText, printable } from '../../src/cli/terminal.ts';
import { startChild } from '../kit/process.ts';
import { TERMINAL_SEQUENCES, testSeed, UNSEEN } from '../kit/random.ts';
import { MAIN } from '../kit/relay.ts';
import { CTRL_C, startInTerminal } from '../kit/terminal.ts';

setDefaultTimeout(60_000);

const HARM = `${TERMINAL_SEQUENCES.join('')}${UNSEEN.join('')}`;

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
      polls += path.startsWith('/auth/result') ? 1 : 0;
      const polled = polls < 3 ? respond(500, HARM) : respond(410, '');
      socket.end(answerTo(path, respond(200, JSON.stringify(STARTED)), polled));
    });
    const terminal = startInTerminal(command(relay));
    expect(await terminal.exited).toBe(EXIT_CODES.expired);
    const drawn = withoutDrawing(terminal.output());
    expect(drawn).toContain('the relay answered 500');
    expect(isHarmful(drawn)).toBe(false);
    expect(terminal.output()).not.toContain(']0;title');
  });

  test('tokens: only what a token can be, and no other members', async () => {
    const tokens = { accessToken: 'token', expiresIn: 60 };
    const more = { refreshToken: HARM, scope: 'Ж', deep: [[[]]], [HARM]: HARM };
    const relay = await serveAnswers(
      respond(200, JSON.stringify(STARTED)),
      respond(200, JSON.stringify({ ...tokens, ...more })),
    );
    const { exitCode, output } = await runLogin(relay);
    expect(exitCode).toBe(0);
    expect(isHarmful(output)).toBe(false);
    const written = /\{.*\}/s.exec(output)?.[0] ?? '';
    expect(JSON.parse(written)).toEqual({ ...tokens, expiresAt: expect.any(Number) });
  });

  test.each(['something_new', '__proto__', 'constructor', 'toString', 'expired'])(
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

describe('login: an invalid response to a start → 6', () => {
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
    ['link', 'of an app', 'x-app://relay.test'],
    ['link', 'without a host', 'https://:80/'],
    ['link', 'with letters that look like others', 'https://rel\u0430y.test/'],
    ['link', 'that reads from right to left', 'https://relay.test/\u202Ekcatta/'],
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
    expect(output).toStartWith('Cannot sign in: The relay answered 200: not what was expected');
    expect(isHarmful(output)).toBe(false);
  });

  test('expiresIn: 1e999', async () => {
    const started = JSON.stringify(STARTED).replace(':600', ':1e999');
    const { exitCode, output } = await runLogin(await serveAnswers(respond(200, started)));
    expect(exitCode).toBe(EXIT_CODES.relay);
    expect(output).not.toContain('Infinity');
  });

  test.each([
    ['a code and more', 'BCDF-GHJK\x1b[2J'],
    ['a sentence', 'call +1 555 0100'],
    ['a number', 7],
  ])('a user code that is none is not shown: %s', async (_, userCode) => {
    const relay = await serveAnswers(respond(200, JSON.stringify({ ...STARTED, userCode })));
    const { exitCode, output } = await runLogin(relay);
    expect(exitCode).toBe(EXIT_CODES.expired);
    expect(output).toContain(STARTED.link);
    expect(output).not.toContain('and type');
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
  expect(output).toContain(`The relay answered 307: a redirect to ${other}/services`);
});

test('login: a captive portal, a proxy, a relay that restarts: it polls on until there are tokens', async () => {
  const tokens = { accessToken: 'token', refreshToken: 'another' };
  const polls = [
    respond(200, '<html>Welcome to the hotel</html>', 'Content-Type: text/html\r\n'),
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
    const isPoll = path.startsWith('/auth/result');
    const polled = isPoll ? (polls.shift() ?? respond(204, '')) : respond(404, '');
    socket.end(path === '/auth/start' ? started : polled);
  });
  const { exitCode, output } = await runLogin(relay);
  expect(exitCode).toBe(0);
  expect(output).toContain('the relay answered 200 with a web page');
  expect(JSON.parse(/\{.*\}/s.exec(output)?.[0] ?? '')).toEqual(tokens);
  expect(output).toContain(url);
  expect(asked.at(-1)).toBe(`/auth/result?session=${session}&ack=1`);
});

test('login: a relay that does not answer the last request holds no terminal', async () => {
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
});

test('login: a disk that takes a part of the tokens: nothing is acknowledged, and the older file stays', async () => {
  const asked: string[] = [];
  const tokens = JSON.stringify({ accessToken: 'a'.repeat(5_000) });
  const relay = await serve((path, socket) => {
    asked.push(path);
    socket.end(answerTo(path, respond(200, JSON.stringify(STARTED)), respond(200, tokens)));
  });
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-login-'));
  const file = join(folder, 'tokens.json');
  writeFileSync(file, 'old');
  // The first write stops at 1 KiB, and the next one fails.
  const limited = `trap '' XFSZ; ulimit -f 1; exec "$@" --output '${file}'`;
  const child = startChild(['/bin/bash', '-c', limited, 'login', ...command(relay)], {
    env: { NO_PROXY: '127.0.0.1' },
  });
  expect(await child.exited).toBe(EXIT_CODES.output);
  expect(child.output()).toEndWith('tokens.json cannot be written: EFBIG\n');
  expect(readdirSync(folder)).toEqual(['tokens.json']);
  expect(readFileSync(file, 'utf8')).toBe('old');
  expect(asked.filter((path) => path.endsWith('&ack=1'))).toEqual([]);
  rmSync(folder, { recursive: true });
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
  expect(child.output()).toContain('The relay started no sign-in within 10 seconds.');
  expect(mostBytes).toBeGreaterThan(0);
  expect(mostBytes).toBeLessThan(200_000_000);
  // What is tried in ten seconds, and what the buffers of the sockets hold.
  expect(sentBytes).toBeLessThan(100_000_000);
});

/** Answers of every kind: what a relay sends, with members of other types, broken, cut, and what no relay sends. */
const answers = (() => {
  const value = fc.oneof(
    fc.constantFrom<unknown>(
      HARM,
      '',
      null,
      0,
      -1,
      1e308,
      [],
      {},
      { toString: 1 },
      ...TERMINAL_SEQUENCES,
    ),
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

/**
 * Pauses take no time, but the clocks advance as if they had. A timer waits for the requests
 * that are under way, and for the timers before it. Returns how long each request waited after the one before, and what restores time.
 */
function skipPauses() {
  const { setTimeout, clearTimeout, fetch } = globalThis;
  const { now: realDate } = Date;
  const realNow = performance.now.bind(performance);
  const timers = new Set<{ readonly dueMs: number }>();
  const pausesMs: number[] = [];
  let skippedMs = 0;
  let lastMs = 0;
  let underWay = 0;
  const setSkipped = (run: () => void, ms: number) => {
    const timer = { dueMs: skippedMs + ms };
    timers.add(timer);
    const fire = () => {
      if (!timers.has(timer)) return;
      const isFirst = [...timers].every(({ dueMs }) => timer.dueMs <= dueMs);
      if (underWay > 0 || !isFirst) return void setImmediate(fire);
      timers.delete(timer);
      skippedMs = timer.dueMs;
      run();
    };
    setImmediate(fire);
    return timer;
  };
  const fetchTimed = async (url: string, init: RequestInit) => {
    if (underWay === 0) pausesMs.push(skippedMs - lastMs);
    underWay += 1;
    // Until its body is read. The SDK has it then, or a moment later.
    const end = () =>
      setImmediate(() => {
        underWay -= 1;
        lastMs = skippedMs;
      });
    try {
      const response = await fetch(url, init);
      void response.clone().arrayBuffer().then(end, end);
      return response;
    } catch (error) {
      end();
      throw error;
    }
  };
  const skipped = { setTimeout: setSkipped, fetch: fetchTimed };
  Object.assign(globalThis, skipped, {
    clearTimeout: (timer: { dueMs: number }) => timers.delete(timer),
  });
  performance.now = () => realNow() + skippedMs;
  Date.now = () => realDate() + skippedMs;
  return {
    pausesMs,
    restore() {
      Object.assign(globalThis, { setTimeout, clearTimeout, fetch });
      performance.now = realNow;
      Date.now = realDate;
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
  let offer: string | undefined;
  const relay = await serve((path, socket) => {
    const answer = () => left.shift() ?? respond(410, '');
    // The last request of a run may come during the next one.
    if (/&(ack|cancel)=1$/.test(path)) return void socket.end(respond(204, ''));
    socket.end(path === '/services' ? (offer ?? answer()) : answer());
  });
  const codes = new Map<number, number>();
  const { pausesMs, restore } = skipPauses();
  try {
    for (const [index, run] of runs.entries()) {
      // Half of them get as far as to the polls.
      offer = index % 2 === 0 ? OFFER : undefined;
      left = [...(offer ? [respond(200, JSON.stringify(STARTED))] : []), ...run];
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
  ['that has a length', (answer: string) => answer],
  ['that ends with the connection', (answer: string) => answer.replace(/Content-Length.*\r\n/, '')],
])('login: a response %s is cut at any byte, and the tokens come', async (_, frame) => {
  const tokens = { accessToken: 'token', refreshToken: 'another' };
  const sent: readonly (readonly [RegExp, string])[] = [
    [/^.services/, frame(OFFER)],
    [/^.auth.start/, frame(respond(200, JSON.stringify(STARTED)))],
    [/&wait=/, frame(respond(200, JSON.stringify(tokens)))],
    [/&ack=1/, frame(respond(204, ''))],
  ];
  let cut: { readonly path: RegExp; readonly at: number } | undefined;
  const relay = await serve((path, socket) => {
    const [route, answer = ''] = sent.find(([each]) => each.test(path)) ?? [];
    const isCut = cut !== undefined && cut.path === route;
    socket.end(answer.slice(0, isCut ? cut?.at : undefined));
    if (isCut) cut = undefined;
  });
  const { restore } = skipPauses();
  try {
    for (const [path, answer] of sent) {
      for (let at = 0; at < answer.length; at += 1) {
        cut = { path, at };
        const { exitCode, output } = await runHere(relay, false);
        // The acknowledgement of a run may come during the next one.
        if (answer.includes('{')) expect(cut).toBeUndefined();
        expect([path, at, exitCode, output]).toEqual([
          path,
          at,
          0,
          expect.stringContaining('token'),
        ]);
        expect(JSON.parse(/\{.*\}/s.exec(output)?.[0] ?? '')).toEqual(tokens);
      }
    }
  } finally {
    restore();
  }
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
      { seed: testSeed, numRuns: 500 },
    );
  });

  test('what can be read stays as it was', () => {
    const text = 'Wohnzimmer – Küche, 居間, 👩‍👩‍👧, \u0915\u094d\u200d\u0937';
    expect(printable(text)).toBe(text);
  });
});
