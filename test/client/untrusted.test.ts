/**
 * Input is read by name, and never replaces what the app has configured (CWE-915): a session on each
 * runtime, at a relay that sends a member for every option; and an API that redirects.
 */
import { describe, expect, test } from 'bun:test';
import { hash } from 'node:crypto';
import { discover, type SessionOptions, type Tokens } from '../../client/src/index.ts';
import { keyOf } from '../../client/src/storage.ts';
import { type Client, RUNTIMES, startRuntimes, startServer, type Tools } from '../kit/runtimes.ts';
import { type Offered, startUntrustedRelay, type UntrustedRelay } from '../kit/untrusted-relay.ts';

const runtimes = await startRuntimes();

type Kept = Tokens | null;

interface Ended {
  /** After the sign-in, and after a refresh. */
  readonly saved: readonly Kept[];
  readonly failure: string | null;
  readonly signedOut?: object;
}

interface Options extends Omit<SessionOptions, 'storage'> {
  readonly items: Record<string, string>;
}

/** Signs in unless the storage, `items`, has tokens; refreshes them; signs out. */
async function live({ createSession }: Client, given: Options, tools: Tools): Promise<Ended> {
  const { items, ...options } = given;
  const storage = tools.slow(items);
  const session = createSession({ ...options, storage });
  const kept = async (): Promise<Kept> =>
    JSON.parse(JSON.stringify((await session.getTokens()) ?? null));
  let saved: Kept[] = [];
  try {
    saved.push(await kept());
    if (saved[0] === null) {
      await session.signIn();
      saved = [await kept()];
    }
    await session.getToken({ rejected: `${saved[0]?.accessToken}` });
    saved.push(await kept());
    return { saved, failure: null, signedOut: await session.signOut() };
  } catch (failure) {
    const { code, detail } = failure as { code: string; detail: string };
    return { saved, failure: `${code}: ${detail}` };
  }
}

test('the menu has what belongs to a service, and no more', async () => {
  const relay = startUntrustedRelay('blind');
  expect(await discover({ relay: relay.url })).toEqual({
    services: [{ service: 'mal', name: 'MyAnimeList', blind: 'must', revoke: false }],
    extensions: ['open', 'ack', 'cancel'],
  });
});

async function askApi({ createSession }: Client, given: { relay: string; api: string }) {
  const stored = JSON.stringify({ accessToken: 'of-the-user' });
  const storage = { getItem: () => stored, setItem() {}, removeItem() {} };
  const origins = [new URL(given.api).origin];
  const session = createSession({ relay: given.relay, service: 'mal', storage, origins });
  await (await session.fetch(given.api)).text();
  return session.fetch('https://other.example/').catch(({ code }) => code);
}

test.each(['Bun', 'Node', 'Chromium'] as const)(
  '%s: a redirect to another origin leaves without the token, a request is refused',
  async (runtime) => {
    const sent: [string, string | null][] = [];
    const [api, other] = [startServer(), startServer()];
    const noteAnd = (answer: () => object) => (request: Request) => {
      sent.push([new URL(request.url).pathname, request.headers.get('Authorization')]);
      return answer();
    };
    const to = (location: string) => () =>
      new Response(null, { status: 307, headers: { Location: location } });
    api.answer({
      '/first': noteAnd(to('/second')),
      '/second': noteAnd(to(`${other.url}/other`)),
    });
    other.answer({ '/other': noteAnd(() => ({})) });
    const given = { relay: api.url, api: `${api.url}/first` };
    expect(await runtimes.run(runtime, askApi, given)).toBe('refused');
    expect(sent).toEqual([
      ['/first', 'Bearer of-the-user'],
      ['/second', 'Bearer of-the-user'],
      ['/other', null],
    ]);
  },
);

describe.each(RUNTIMES)('%s', (runtime) => {
  const liveWith = (options: Partial<Options> & { readonly relay: string }) =>
    runtimes.run(runtime, live, { service: 'mal', items: {}, ...options });

  function start(offered: Offered, callback?: object): UntrustedRelay {
    const relay = startUntrustedRelay(offered, callback);
    return relay;
  }

  const TOKENS = 'accessToken,expiresAt,expiresIn,refreshToken,scope,tokenType'.split(',');

  test('tokens of the relay: kept without what else it sent, refreshed and revoked by it', async () => {
    const relay = start('relayed');
    const { failure, saved, signedOut } = await liveWith({ relay: relay.url });
    expect(failure).toBeNull();
    for (const tokens of saved) expect(Object.keys(tokens ?? {}).toSorted()).toEqual(TOKENS);
    expect(saved[1]?.accessToken).not.toBe(saved[0]?.accessToken);
    expect(signedOut).toEqual({ revoked: true });
    const paths = relay.asked.map(({ path }) => path.replace(/\?.*/, ''));
    expect(paths).toEqual(expect.arrayContaining(['/auth/start', '/refresh', '/revoke']));
    const { refreshToken } = saved[0] as Tokens;
    const refresh = relay.asked.find(({ path }) => path === '/refresh');
    expect(JSON.parse(`${refresh?.body}`)).toMatchObject({ service: 'mal', refreshToken });
    expect([relay.providerAsked, relay.strangerAsked]).toEqual([[], []]);
  });

  const OWN = [...TOKENS, 'clientId', 'revocationUrl', 'tokenUrl'].toSorted();

  function expectOwn(relay: UntrustedRelay, { failure, saved, signedOut }: Ended): void {
    expect(failure).toBeNull();
    const { tokenUrl, revocationUrl, clientId } = relay.open;
    for (const tokens of saved) {
      expect(Object.keys(tokens ?? {}).toSorted()).toEqual(OWN);
      expect(tokens).toMatchObject({ tokenUrl, revocationUrl, clientId });
    }
    expect(signedOut).toEqual({ revoked: true });
    const forms = relay.providerAsked.map(({ path, headers, body }) => {
      // GitHub sends a form to a client that does not ask for JSON.
      expect(headers.get('accept')).toBe('application/json');
      return { path, ...Object.fromEntries(new URLSearchParams(body)) } as object;
    });
    const verifier = new URLSearchParams(relay.providerAsked[0]?.body).get('code_verifier') ?? '';
    expect(verifier).toMatch(/^[\w-]{43,128}$/);
    const redirect_uri = `${relay.url}/callback`;
    const code = { code: relay.code, code_verifier: verifier, redirect_uri };
    const [{ refreshToken: refresh_token }, last] = saved as [Tokens, Tokens];
    const client_id = 'own';
    expect(forms).toEqual([
      { path: '/token', client_id, grant_type: 'authorization_code', ...code },
      { path: '/token', client_id, grant_type: 'refresh_token', refresh_token },
      { path: '/revoke', client_id, token: last.refreshToken },
      { path: '/revoke', client_id, token: last.accessToken },
    ]);
    expect(relay.asked.some(({ body }) => body.includes(verifier))).toBe(false);
    const start = relay.asked.find(({ path }) => /start|open$/.test(path));
    // None if it continues a sign-in.
    const challenge = hash('sha256', verifier, 'base64url');
    if (start) expect(start.body).toMatch(new RegExp(`${challenge}(?![\\w-])`));
    expect(relay.strangerAsked).toEqual([]);
  }

  test('an open sign-in: who completes it cannot choose endpoints or client', async () => {
    const relay = start('open', { iss: 'https://issuer.test' });
    const open = { ...relay.open, issuer: 'https://issuer.test' };
    expectOwn(relay, await liveWith({ relay: relay.url, open }));
  });

  test.each([
    ['another issuer', { iss: 'https://evil.test' }],
    ['an empty issuer', { iss: '' }],
    ['an issuer that is no text', { iss: ['https://issuer.test'] }],
    ['no issuer, where one is required,', { iss: undefined }],
  ])('an open sign-in whose callback names %s is refused', async (_name, callback) => {
    const relay = start('open', callback);
    const open = { ...relay.open, issuer: 'https://issuer.test', issuerRequired: true };
    const { failure, saved } = await liveWith({ relay: relay.url, open });
    expect([failure, saved]).toEqual([
      expect.stringMatching(/^refused: The callback names (another|no) issuer$/),
      [null],
    ]);
    expect([relay.providerAsked, relay.strangerAsked]).toEqual([[], []]);
  });

  test("an open sign-in with the app's own state is refused with another", async () => {
    const other = start('open', { state: 'of another' });
    const query = '&state=of%20this+one';
    const openOf = ({ open }: UntrustedRelay) => ({
      ...open,
      authorizationUrl: open.authorizationUrl + query,
    });
    const { failure } = await liveWith({ relay: other.url, open: openOf(other) });
    expect(failure).toBe('refused: The callback has another state');
    expect([other.providerAsked, other.strangerAsked]).toEqual([[], []]);
    const same = start('open');
    expectOwn(same, await liveWith({ relay: same.url, open: openOf(same) }));
  });

  test('a blind sign-in: what the relay says of its client, and no more', async () => {
    const relay = start('blind');
    expectOwn(relay, await liveWith({ relay: relay.url }));
  });

  test('an unfinished sign-in in the storage: only what belongs to it is read', async () => {
    const relay = start('open');
    const place = { relay: relay.url, service: 'mal' };
    const started = {
      ...relay.extra,
      session: 'poll-secret-of-the-process-before',
      url: `${relay.url}/L/BCDF-GHJK`,
      expiresIn: 600,
    };
    const verifier = 'verifier-of-the-process-before-43-characters';
    const own = { ...place, started, verifier, extensions: ['ack'], startedAtMs: Date.now() };
    const items = { [`unfinished-${keyOf(place)}`]: JSON.stringify({ ...relay.extra, ...own }) };
    expectOwn(relay, await liveWith({ ...place, open: relay.open, items }));
    const exchange = new URLSearchParams(relay.providerAsked[0]?.body);
    expect(exchange.get('code_verifier')).toBe(verifier);
    expect(relay.asked.filter(({ path }) => path === '/open')).toEqual([]);
  });
});
