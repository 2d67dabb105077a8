/** What a session's state says, on storage that takes its time, on each runtime. */
import { beforeAll, describe, expect, test } from 'bun:test';
import { keyOf } from '../../client/src/storage.ts';
import { findFreePort } from '../kit/process.ts';
import {
  type Client,
  RUNTIMES,
  type Runtimes,
  startRuntimes,
  startServer,
  type Tools,
} from '../kit/runtimes.ts';
import { plantSecret } from '../kit/secrets.ts';

let runtimes: Runtimes;
let server: ReturnType<typeof startServer>;

beforeAll(async () => {
  runtimes = await startRuntimes();
  server = startServer();
});

const placeOf = () => ({ relay: server.url, service: 'mal' });

/** The storage of a user who is signed in. */
function signedIn(more: object = {}): Record<string, string> {
  const tokens = { accessToken: 'access', refreshToken: 'refresh', ...more };
  return { [keyOf(placeOf())]: JSON.stringify(tokens) };
}

interface Given {
  readonly place: { readonly relay: string; readonly service: string };
  readonly items: Record<string, string>;
}

test.each(['Bun', 'Node', 'Chromium'] as const)(
  '%s: session.fetch takes a Request with body and signal, also after a 401',
  async (runtime) => {
    const sent: unknown[] = [];
    server.answer({
      '/refresh': () => ({ accessToken: 'fresh' }),
      async '/api'(request) {
        const { method, headers } = request;
        const token = headers.get('Authorization');
        sent.push([method, token, headers.get('X-Own'), await request.text()]);
        return token === 'Bearer fresh' ? { ok: true } : new Response('', { status: 401 });
      },
    });
    async function ask({ createSession }: Client, given: Given, tools: Tools) {
      const session = createSession({ ...given.place, storage: tools.slow(given.items) });
      const url = `${given.place.relay}/api`;
      const headers = { 'X-Own': 'kept' };
      const response = await session.fetch(
        new Request(url, { method: 'POST', body: 'b', headers }),
      );
      const leaving = new AbortController();
      const aborted = session.fetch(new Request(url, { signal: leaving.signal }));
      leaving.abort(new Error('left'));
      return { status: response.status, failure: await tools.failureOf(aborted) };
    }
    expect(await runtimes.run(runtime, ask, { place: placeOf(), items: signedIn() })).toEqual({
      status: 200,
      failure: { detail: 'left' } as never,
    });
    expect(sent).toEqual([
      ['POST', 'Bearer access', 'kept', 'b'],
      ['POST', 'Bearer fresh', 'kept', 'b'],
    ]);
  },
);

const STARTED = { session: 'poll-secret', expiresIn: 600 };
const started = () => ({ ...STARTED, url: `${server.url}/auth/mal?state=s` });
const refused = () => Response.json({ error: 'invalid_grant' }, { status: 400 });

describe.each(RUNTIMES)('%s', (runtime) => {
  const run = <Given, Result>(
    app: (client: Client, given: Given, tools: Tools) => Promise<Result>,
    given: Given,
  ) => runtimes.run(runtime, app, given);

  test('after a sign-out that is the first call of a process, nobody is signed in', async () => {
    server.answer({ '/revoke': () => ({}) });
    async function leaveAtOnce({ createSession }: Client, given: Given, { slow, watch }: Tools) {
      const session = createSession({ ...given.place, storage: slow(given.items) });
      const states = watch(session);
      const signedOut = await session.signOut();
      const tokens = await session.getTokens();
      return { states, signedOut, tokens: tokens ?? null, items: given.items };
    }
    expect(await run(leaveAtOnce, { place: placeOf(), items: signedIn() })).toEqual({
      states: [{ status: 'loading' }, { status: 'signed-out' }],
      signedOut: { revoked: true },
      tokens: null,
      items: {},
    });
  });

  test('a read in flight when the user signs out changes nothing, and gives no token', async () => {
    server.answer({ '/revoke': () => ({}) });
    async function leave({ createSession }: Client, given: Given, tools: Tools) {
      const session = createSession({ ...given.place, storage: tools.slow(given.items) });
      await tools.until(session, 'signed-in');
      const states = tools.watch(session);
      const reading = tools.failureOf(session.getToken());
      await session.signOut();
      return { states, code: (await reading)?.code };
    }
    expect(await run(leave, { place: placeOf(), items: signedIn() })).toEqual({
      states: [{ status: 'signed-in' }, { status: 'signed-out' }],
      code: 'signed_out',
    });
  });

  test('a sign-in that was cancelled at once sends no request, and shows nothing more', async () => {
    server.answer({});
    async function cancel({ createSession }: Client, given: Given, tools: Tools) {
      const session = createSession({ ...given.place, storage: tools.slow(given.items) });
      await tools.until(session, 'signed-out');
      const states = tools.watch(session);
      const ended = session.signIn();
      session.cancel();
      const isSignedIn = await ended;
      await session.getTokens();
      return { isSignedIn, statuses: states.map(({ status }) => status) };
    }
    expect(await run(cancel, { place: placeOf(), items: {} })).toEqual({
      isSignedIn: false,
      statuses: ['signed-out', 'starting', 'signed-out'],
    });
    expect(server.asked).toEqual([]);
  });

  test('a refresh that a newer sign-in overtakes does not replace its tokens', async () => {
    const isSignedIn = Promise.withResolvers<void>();
    server.answer({
      '/auth/start': started,
      '/auth/result': () => ({ accessToken: 'of-the-new-user' }),
      async '/refresh'() {
        await isSignedIn.promise;
        return { accessToken: 'of-the-old-user' };
      },
      '/signed-in'() {
        isSignedIn.resolve();
        return {};
      },
    });
    async function overtake({ createSession }: Client, given: Given, tools: Tools) {
      const session = createSession({ ...given.place, storage: tools.slow(given.items) });
      const refreshed = session.getToken({ rejected: 'access' });
      await session.signIn();
      await fetch(`${given.place.relay}/signed-in`);
      return { given: await refreshed, kept: (await session.getTokens())?.accessToken };
    }
    expect(await run(overtake, { place: placeOf(), items: signedIn() })).toEqual({
      given: 'of-the-new-user',
      kept: 'of-the-new-user',
    });
  });

  test('what the provider has ended stays ended, also after a restart', async () => {
    const accessToken = plantSecret(`access-${crypto.randomUUID()}`);
    const refreshToken = plantSecret(`refresh-${crypto.randomUUID()}`);
    server.answer({ '/refresh': refused, '/api': () => new Response('', { status: 401 }) });
    async function goOn({ createSession }: Client, given: Given, tools: Tools) {
      // Another storage object is another process.
      const open = () => createSession({ ...given.place, storage: tools.slow(given.items) });
      const session = open();
      await tools.until(session, 'signed-in');
      const states = tools.watch(session);
      const { accessToken: rejected } = (await session.getTokens()) ?? {};
      const failures = [
        session.fetch
          ? await tools.failureOf(session.fetch(`${given.place.relay}/api`))
          : await tools.failureOf(session.getToken({ rejected })),
        await tools.failureOf(session.getToken()),
      ];
      const restarted = open();
      const after = await tools.until(restarted, 'signed-out');
      failures.push(await tools.failureOf(restarted.getToken()));
      return { states, after, failures, items: JSON.stringify(given.items) };
    }
    const items = signedIn({ accessToken, refreshToken });
    const { states, after, failures, items: kept } = await run(goOn, { place: placeOf(), items });
    const detail = `The relay answered 400: invalid_grant (${server.url}/refresh)`;
    const out = { status: 'signed-out', error: { code: 'invalid_grant', detail } };
    expect(states).toMatchObject([{ status: 'signed-in' }, out]);
    expect(after).toMatchObject(out);
    expect(failures).toEqual(Array(3).fill({ code: 'invalid_grant', detail }));
    expect(kept).not.toContain(accessToken);
    expect(kept).not.toContain(refreshToken);
    expect(server.asked.filter((path) => path === '/refresh')).toHaveLength(1);
  });

  test('a token that the API does not accept, without a refresh token, is the end too', async () => {
    async function goOn({ createSession }: Client, given: Given, tools: Tools) {
      const session = createSession({ ...given.place, storage: tools.slow(given.items) });
      const rejected = await session.getToken();
      const failures = [
        await tools.failureOf(session.getToken({ rejected })),
        await tools.failureOf(session.getToken()),
      ];
      return { codes: failures.map((each) => each?.code), status: session.state.status };
    }
    const items = signedIn({ refreshToken: undefined });
    expect(await run(goOn, { place: placeOf(), items })).toEqual({
      codes: ['invalid_grant', 'invalid_grant'],
      status: 'signed-out',
    });
  });

  test('the state names the address that does not answer, from the first request', async () => {
    async function signIn({ createSession }: Client, given: Given, tools: Tools) {
      const session = createSession({ ...given.place, storage: tools.slow(given.items) });
      void session.signIn();
      const away = await tools.until(session, 'reconnecting');
      session.cancel();
      return away;
    }
    const relay = `http://127.0.0.1:${await findFreePort()}`;
    const away = await run(signIn, { place: { relay, service: 'mal' }, items: {} });
    expect(away).toMatchObject({ status: 'reconnecting' });
    const { detail } = away as { readonly detail: string };
    const cors = `, or its CORS_ORIGINS does not have ${runtimes.origin}`;
    const isPage = runtime === 'Chromium' || runtime === 'the TV build';
    expect(detail).toStartWith(`The relay did not answer${isPage ? cors : ''}`);
    expect(detail).toEndWith(`(${relay}/services)`);
  });

  test.each([
    ['a wrong path', '404 page not found\n', 404, 'The path is wrong: The relay answered 404'],
    ['a website', '<!doctype html><p>Hello', 200, 'A website or a proxy answered 200: a web page'],
    ['a website without the page', '<!doctype html>', 404, 'A website or a proxy answered 404'],
    ['another service', '{"hello":"world"}', 200, 'The relay answered 200: not what was expected'],
  ])('discover says that there is no relay: %s', async (_name, text, status, words) => {
    server.answer({ '/services': () => new Response(text, { status }) });
    const app = ({ discover }: Client, relay: string, { failureOf }: Tools) =>
      failureOf(discover({ relay }));
    const failure = await run(app, server.url);
    expect(failure?.code).toMatch(/^(refused|unreachable)$/);
    expect(failure?.detail).toStartWith(words);
    expect(failure?.detail).toEndWith(`(${server.url}/services)`);
  });

  test('a failing storage, nobody signed in, and other options have their own words', async () => {
    async function ask({ createSession }: Client, given: Given, tools: Tools) {
      const storage = tools.slow(given.items);
      const broken = { ...storage, getItem: () => Promise.reject(new Error('no storage')) };
      const unread = createSession({ ...given.place, storage: broken });
      const empty = createSession({ ...given.place, storage });
      const open = async () => createSession({ ...given.place, storage, device: 'B', code: false });
      const failures = [
        await tools.failureOf(unread.getToken()),
        await tools.failureOf(empty.getToken()),
        await tools.failureOf(open()),
      ];
      return { failures, states: [unread.state, empty.state] };
    }
    const { failures, states } = await run(ask, { place: placeOf(), items: {} });
    expect(failures).toEqual([
      { code: 'storage_failed', detail: 'The storage failed to read' },
      { code: 'signed_out', detail: 'Nobody is signed in' },
      { code: 'options_differ', detail: 'This session is open with other options: device, code' },
    ]);
    expect(states).toMatchObject([
      { status: 'signed-out', error: { code: 'storage_failed' } },
      { status: 'signed-out' },
    ]);
    expect(states[1]).not.toHaveProperty('error');
  });

  test('a sign-in that has not ended is resumable after a reload, and ends with its link', async () => {
    let polls = 0;
    server.answer({
      '/auth/start': started,
      '/auth/result'() {
        polls += 1;
        return polls > 1 ? { accessToken: 'a' } : new Response(null, { status: 204 });
      },
    });
    async function reload({ createSession }: Client, given: Given, tools: Tools) {
      const open = () => createSession({ ...given.place, storage: tools.slow(given.items) });
      const first = open();
      void first.signIn();
      const before = await tools.until(first, 'waiting');
      // The process ends here: nothing more happens to this one.
      const second = open();
      const left = await tools.until(second, 'signed-out');
      const states = tools.watch(second);
      const isSignedIn = await second.signIn();
      const links = [before, ...states].map((each) => ('prompt' in each ? each.prompt?.link : ''));
      return { left, isSignedIn, links };
    }
    expect(await run(reload, { place: placeOf(), items: {} })).toEqual({
      left: { status: 'signed-out', resumable: true },
      isSignedIn: true,
      links: [started().url, '', '', started().url, ''],
    });
    expect(server.asked.filter((path) => path === '/auth/start')).toHaveLength(1);
  });

  test('a signed-in state has the expiry, and the user that the ID token names', async () => {
    const claims = { sub: '7', name: 'Zoë \u202e', email: 1, picture: 'javascript:0', admin: true };
    const payload = Buffer.from(JSON.stringify(claims)).toString('base64url');
    const idToken = `e30.${payload}.c2ln`;
    server.answer({
      '/auth/start': started,
      '/auth/result': () => ({ accessToken: 'a', expiresIn: 60, idToken }),
    });
    async function signIn({ createSession }: Client, given: Given, tools: Tools) {
      const options = { ...given.place, details: true, storage: tools.slow(given.items) };
      const session = createSession(options);
      const sinceMs = Date.now();
      await session.signIn();
      const restarted = createSession({ ...options, storage: tools.slow(given.items) });
      const { expiresAt = 0, ...state } = { ...session.state } as Record<string, unknown>;
      const left = Number(expiresAt) - sinceMs;
      return { state, left, after: await tools.until(restarted, 'signed-in'), expiresAt };
    }
    const { state, left, after, expiresAt } = await run(signIn, { place: placeOf(), items: {} });
    expect(state).toEqual({ status: 'signed-in', user: { sub: '7', name: 'Zoë' } });
    expect(left).toBeWithin(60_000, 120_000);
    expect(after).toEqual({ ...state, expiresAt } as typeof after);
  });
});
