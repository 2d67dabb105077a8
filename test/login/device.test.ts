/** `login` against a relay that answers as the test says: what a network and a proxy do, and what only newer relays say. */
import { afterEach, expect, setDefaultTimeout, test } from 'bun:test';
import { EXIT_CODES } from '../../src/cli/login/command.ts';
import { type Child, startChild } from '../kit/process.ts';
import { MAIN } from '../kit/relay.ts';
import { pollUntil } from '../kit/wait.ts';

setDefaultTimeout(40_000);

const STARTED = {
  session: 'A'.repeat(24),
  url: 'https://relay.test/auth/mal?state=BBBBBBBBBBBBBBBBBBBBBBBB',
  expiresIn: 600,
};
const TOKENS = { accessToken: 'token', refreshToken: 'another' };

let stop: (() => unknown) | undefined;
afterEach(() => stop?.());

/** Answers the start, then each poll in turn; what comes after the last one waits. */
function serveRelay(polls: readonly (() => Response)[], started: object = STARTED) {
  const queries: string[] = [];
  let next = 0;
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    async fetch(request) {
      const url = new URL(request.url);
      if (url.pathname === '/auth/start') return Response.json(started);
      queries.push(url.search.replace(/session=A+/, 'session=…'));
      if (/ack|cancel/.test(url.search)) return new Response(null, { status: 204 });
      const poll = polls[next];
      next += 1;
      return poll?.() ?? new Promise<Response>(() => {});
    },
  });
  stop = () => server.stop(true);
  return { url: server.url.origin, queries };
}

function startLogin(relayUrl: string): Child {
  const command = [process.execPath, MAIN, 'login', 'mal', '--relay', relayUrl];
  return startChild(command, { env: { NO_PROXY: '127.0.0.1' } });
}

test('a captive portal, a proxy, a relay that restarts: it polls on until there are tokens', async () => {
  const relay = serveRelay([
    () => new Response('<html>Welcome to the hotel</html>'),
    () => new Response('bad gateway', { status: 502 }),
    () => new Response('slow down', { status: 429, headers: { 'Retry-After': '1' } }),
    () => new Response(null, { status: 204 }),
    () => Response.json(TOKENS),
  ]);
  const login = startLogin(relay.url);
  expect(await login.exited).toBe(0);
  expect(relay.queries.at(-1)).toBe('?session=…&ack=1');
  expect(login.output()).toContain(JSON.stringify(TOKENS, null, 2));
  // An old relay has no codes: the long link is what there is.
  expect(login.output()).toContain(STARTED.url);
});

test('opened: the user is told to go on in the browser', async () => {
  const relay = serveRelay([() => Response.json({ progress: 'opened' })]);
  const login = startLogin(relay.url);
  await pollUntil('it is told', () => login.output().includes('The link is open'));
  expect(relay.queries[0]).toBe('?session=…&progress=1');
  login.kill('SIGINT');
  await login.exited;
});

test('Ctrl-C cancels the sign-in at the relay', async () => {
  const relay = serveRelay([]);
  const login = startLogin(relay.url);
  await pollUntil('it polls', () => relay.queries.length > 0);
  login.kill('SIGINT');
  expect(await login.exited).toBe(EXIT_CODES.interrupted);
  expect(relay.queries.at(-1)).toBe('?session=…&cancel=1');
});

test('an error that it does not know is a sign-in that failed', async () => {
  const relay = serveRelay([() => Response.json({ error: 'something_new' })]);
  expect(await startLogin(relay.url).exited).toBe(EXIT_CODES.failed);
});

test('no relay at all → 6', async () => {
  const login = startLogin('http://127.0.0.1:1');
  expect(await login.exited).toBe(EXIT_CODES.relay);
  expect(login.output()).toContain('cannot be reached');
});
