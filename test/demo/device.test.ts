/** demo/device.ts, which app developers copy: it retries whatever may pass, and nothing else, until the link expires. */
import { describe, expect, spyOn, test } from 'bun:test';
import { type SignIn, startSignIn, waitForTokens } from '../../demo/device.ts';
import { failureOf } from '../kit/wait.ts';

interface Answer {
  readonly status: number;
  readonly body?: string;
  readonly headers?: Record<string, string>;
  /** The connection closes in the middle of the body. */
  readonly isCut?: boolean;
}

const json = (body: object): Answer => ({ status: 200, body: JSON.stringify(body) });
const text = (status: number, body: string, headers = {}): Answer => {
  return { status, body: `${body}\n`, headers };
};
const PENDING: Answer = { status: 204 };
/** A captive portal, as in a hotel, answers every request with its own page. */
const PORTAL: Answer = { status: 200, body: '<h1>Welcome to the hotel</h1>' };
const CUT: Answer = { status: 200, body: '{"accessTo', isCut: true };
/** The request is never answered. */
const SILENCE: Answer = { status: 0 };
const BUSY = text(503, 'Server busy');

/** A relay that gives these answers in turn, and then the last one for ever. Has no timers of its own. */
function startScriptedRelay(...answers: Answer[]) {
  /** Method and target of every request so far. */
  const requests: string[] = [];
  const listener = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket, part) {
        const requestLine = /^(\S+ \S+) HTTP/.exec(part.toString('latin1'))?.[1];
        // A body that arrives by itself, after its request was answered.
        if (requestLine === undefined) return;
        const answer = answers[Math.min(requests.length, answers.length - 1)] ?? PENDING;
        requests.push(requestLine);
        if (answer !== SILENCE) socket.end(write(answer));
      },
    },
  });
  return {
    url: `http://127.0.0.1:${listener.port}`,
    requests,
    [Symbol.dispose]: () => listener.stop(true),
  };
}

function write({ status, body = '', headers = {}, isCut = false }: Answer): string {
  const length = isCut ? body.length + 1 : body.length;
  const fields = Object.entries({ ...headers, Connection: 'close', 'Content-Length': length });
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} scripted\r\n${lines.join('')}\r\n${body}`;
}

const FASTER = 100;

/** Shortens every pause of the device, and records how long it was meant to be. */
function speedUpPauses() {
  const pausesMs: number[] = [];
  const { setTimeout } = globalThis;
  const spy = spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms = 0) => {
    pausesMs.push(ms);
    return setTimeout(run, ms / FASTER);
  }) as typeof globalThis.setTimeout);
  return { pausesMs, [Symbol.dispose]: () => spy.mockRestore() };
}

const CANCELLED = new Error('the user has left');

describe('startSignIn', () => {
  const STARTED = { session: 'poll/secret', url: 'https://relay.example/auth/mal', expiresIn: 600 };

  test('asks once, and knows when the link expires', async () => {
    using relay = startScriptedRelay(json(STARTED));
    const beforeMs = performance.now();
    const signIn = await startSignIn(relay.url, 'mal');
    expect(signIn).toMatchObject(STARTED);
    expect(signIn.expiresAtMs).toBeGreaterThanOrEqual(beforeMs + 600_000);
    expect(relay.requests).toEqual(['POST /auth/start']);
  });

  test('retries after 429, 503, a captive portal and a cut connection', async () => {
    using _ = speedUpPauses();
    const limited = text(429, 'Rate limited');
    using relay = startScriptedRelay(limited, BUSY, PORTAL, CUT, json(STARTED));
    const troubles: string[] = [];
    await startSignIn(relay.url, 'mal', { onRetry: (trouble) => troubles.push(trouble) });
    expect(troubles).toEqual([
      'the relay answered 429 Rate limited',
      'the relay answered 503 Server busy',
      'the relay does not answer',
      'the relay does not answer',
    ]);
  });

  test('waits as long as Retry-After says', async () => {
    using pauses = speedUpPauses();
    const limited = text(429, 'Rate limited', { 'Retry-After': '7' });
    using relay = startScriptedRelay(limited, json(STARTED));
    await startSignIn(relay.url, 'mal');
    expect(pauses.pausesMs).toContain(7_000);
  });

  test.each([
    ['429 for ever is rate_limited', 429, 'rate_limited'],
    ['503 for ever is unreachable', 503, 'unreachable'],
  ])('%s', async (_, status, code) => {
    using _pauses = speedUpPauses();
    using relay = startScriptedRelay(text(status, 'Not now'));
    expect(await failureOf(startSignIn(relay.url, 'mal'))).toMatchObject({ code });
  });

  test('no relay at the address is unreachable', async () => {
    using _ = speedUpPauses();
    const relay = startScriptedRelay(json(STARTED));
    relay[Symbol.dispose]();
    expect(await failureOf(startSignIn(relay.url, 'mal'))).toMatchObject({ code: 'unreachable' });
  });

  test('400 is refused, with the words of the relay, and not retried', async () => {
    using relay = startScriptedRelay(text(400, 'Unknown service'));
    expect(await failureOf(startSignIn(relay.url, 'nobody'))).toMatchObject({
      code: 'refused',
      detail: 'the relay answered 400 Unknown service',
    });
    expect(relay.requests).toHaveLength(1);
  });

  test('cancelled, it rejects with the reason of the signal', async () => {
    using relay = startScriptedRelay(BUSY);
    const ending = new AbortController();
    const onRetry = () => ending.abort(CANCELLED);
    const started = startSignIn(relay.url, 'mal', { signal: ending.signal, onRetry });
    expect(await failureOf(started)).toBe(CANCELLED);
  });
});

describe('waitForTokens', () => {
  const TOKENS = { accessToken: 'an-access-token', refreshToken: 'a-refresh-token', expiresIn: 60 };

  const signInOf = (leftMs = 600_000): SignIn => ({
    session: 'poll/secret',
    url: 'https://relay.example/auth/mal',
    expiresIn: 600,
    expiresAtMs: performance.now() + leftMs,
  });

  test('polls again after 204 with the same secret, and returns the tokens', async () => {
    using _ = speedUpPauses();
    using relay = startScriptedRelay(PENDING, PENDING, json(TOKENS));
    expect(await waitForTokens(relay.url, signInOf())).toEqual(TOKENS);
    expect(relay.requests).toEqual(Array(3).fill('GET /auth/result?session=poll%2Fsecret'));
  });

  test('pauses after a 204 that came at once, as from a relay that restarts', async () => {
    using pauses = speedUpPauses();
    using relay = startScriptedRelay(PENDING, json(TOKENS));
    await waitForTokens(relay.url, signInOf());
    expect(Math.max(...pauses.pausesMs)).toBeGreaterThan(1_000);
  });

  test('polls again after 500, 502, 429, a captive portal and a cut connection', async () => {
    using _ = speedUpPauses();
    const refusals = [text(500, 'oops'), text(502, 'Bad Gateway'), text(429, 'slow down')];
    using relay = startScriptedRelay(...refusals, PORTAL, CUT, json(TOKENS));
    const troubles: string[] = [];
    const onRetry = (trouble: string) => troubles.push(trouble);
    expect(await waitForTokens(relay.url, signInOf(), { onRetry })).toEqual(TOKENS);
    expect(troubles).toHaveLength(5);
  });

  test.each(['access_denied', 'authorization_failed', 'missing_code', 'exchange_failed'])(
    'rejects with error %s, and polls no more',
    async (error) => {
      using relay = startScriptedRelay(json({ error }));
      expect(await failureOf(waitForTokens(relay.url, signInOf()))).toMatchObject({ code: error });
      expect(relay.requests).toHaveLength(1);
    },
  );

  test.each([
    ['410', text(410, 'Session not found'), 600_000],
    ['the end of the lifetime, whatever the relay says', PENDING, 50],
    ['the end of the lifetime, if the relay says nothing', SILENCE, 50],
  ])('%s is expired', async (_, answer, leftMs) => {
    using pauses = speedUpPauses();
    using relay = startScriptedRelay(answer);
    expect(await failureOf(waitForTokens(relay.url, signInOf(leftMs)))).toMatchObject({
      code: 'expired',
    });
    expect(pauses.pausesMs.filter((ms) => ms < 0)).toEqual([]);
  });

  test('cancelled, it rejects with the reason of the signal', async () => {
    using relay = startScriptedRelay(text(500, 'oops'));
    const ending = new AbortController();
    const onRetry = () => ending.abort(CANCELLED);
    const waiting = waitForTokens(relay.url, signInOf(), { signal: ending.signal, onRetry });
    expect(await failureOf(waiting)).toBe(CANCELLED);
  });
});
