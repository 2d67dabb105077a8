/** A session and what a relay offers on request: the menu, 'opened', cancelling, refreshing and blind sign-ins. */
import { afterAll, expect, test } from 'bun:test';
import { hash, randomUUID } from 'node:crypto';
import {
  createSession,
  type Session,
  type SessionOptions,
  type SignInError,
} from '../../client/src/index.ts';
import { createMemory, keyOf } from '../../client/src/storage.ts';
import { serveUpstream } from '../kit/provider.ts';
import { startRelay } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';
import { makeCode } from '../kit/user.ts';
import { failureOf } from '../kit/wait.ts';

/** Public clients of one provider with S256, and of another without. Its codes are worth what their challenge says. */
function startProvider() {
  const challenges = new Map<string, string | null>();
  const forms: URLSearchParams[] = [];
  const { origin, url, stop } = serveUpstream(({ headers }, body) => {
    const form = new URLSearchParams(body);
    forms.push(form);
    const code = form.get('code') ?? '';
    const isRefresh = form.get('grant_type') === 'refresh_token';
    const proof = hash('sha256', form.get('code_verifier') ?? '', 'base64url');
    const challenge = challenges.get(code);
    challenges.delete(code);
    const isGood = isRefresh ? form.get('refresh_token') !== 'used' : challenge === proof;
    if (!isGood) return Response.json({ error: 'invalid_grant' }, { status: 400 });
    const tokens = {
      access_token: plantSecret(`access-${randomUUID()}`),
      refresh_token: plantSecret(`refresh-${randomUUID()}`),
      expires_in: '3600',
      token_type: 'Bearer',
      scope: 'read',
    };
    // GitHub sends a form to a client that does not ask for JSON.
    const wantsJson = headers.get('accept') === 'application/json';
    return wantsJson ? Response.json(tokens) : new Response(`${new URLSearchParams(tokens)}`);
  });
  return { origin, url, stop, challenges, forms };
}

const provider = startProvider();
const providerOf = (name: string) => ({
  [`${name}_CLIENT_ID`]: 'relay-client',
  [`${name}_AUTHORIZE_URL`]: `${provider.origin}/authorize`,
  [`${name}_TOKEN_URL`]: provider.url,
  [`${name}_PKCE`]: 'S256',
});
const relay = await startRelay({
  PROVIDERS: 'acme,confidential',
  START_BURST: '1000',
  ACME_DISPLAY_NAME: 'Acme Music',
  ...providerOf('ACME'),
  ...providerOf('CONFIDENTIAL'),
  CONFIDENTIAL_CLIENT_SECRET: plantSecret('the-secret-of-the-relay-alone'),
});
const place = { relay: relay.baseUrl, service: 'acme' };

afterAll(async () => {
  await relay.stop();
  provider.stop();
});

/** Opens the link, as far as the provider. Returns how the user comes back from there. */
async function openLink(link: string): Promise<() => Promise<Response>> {
  const { headers } = await relay.ask(link);
  const sent = new URL(headers.get('location') ?? '').searchParams;
  const code = makeCode();
  provider.challenges.set(code, sent.get('code_challenge'));
  const { pathname } = new URL(link);
  return () => relay.ask(`${pathname}/callback?state=${sent.get('state')}&code=${code}`);
}

/** Calls `show` with each link. */
function onLink(session: Session, show: (link: string) => unknown): void {
  session.subscribe(() => {
    if (session.state.status === 'waiting') void show(session.state.prompt.link);
  });
}

const openAgain = (options: Partial<SessionOptions> = {}) =>
  createSession({ ...place, storage: createMemory(), ...options });

/** The user signs in as soon as there is a link. Resolves with the session. */
async function signInAtOnce(options: Partial<SessionOptions> = {}) {
  const session = openAgain({ code: false, ...options });
  onLink(session, (link) => openLink(link).then((comeBack) => comeBack()));
  expect(await session.signIn()).toBe(true);
  return session;
}

/** Refreshes as after a 401. */
async function refreshed(session: Session) {
  const before = await session.getTokens();
  await session.getToken({ rejected: before?.accessToken });
  const after = await session.getTokens();
  expect(after?.accessToken).not.toBe(String(before?.accessToken));
  return { before, after };
}

test('a signal that is aborted, or was, rejects with its reason, and cancels', async () => {
  const session = openAgain();
  const signal = AbortSignal.timeout(300);
  expect(await failureOf(session.signIn({ signal }))).toBe(signal.reason);
  expect(session.state.status).toBe('signed-out');
  expect(await failureOf(session.signIn({ signal }))).toBe(signal.reason);
  // As in older React Native.
  const bare = { aborted: true, addEventListener() {}, removeEventListener() {} };
  expect(await failureOf(session.signIn({ signal: bare }))).toMatchObject({ name: 'AbortError' });
});

test('headers go to the relay and not to the provider, through the fetch of the app', async () => {
  const sent: [string, unknown][] = [];
  const options = {
    headers: { 'X-App-Key': 'key' },
    fetch(url: string, init: object) {
      const { headers } = init as { headers?: Record<string, string> };
      sent.push([new URL(url).origin, headers?.['X-App-Key']]);
      return fetch(url, init);
    },
  };
  for (const blind of [undefined, false]) {
    await refreshed(await signInAtOnce({ ...options, blind }));
  }
  for (const [origin, key] of sent) {
    expect([origin, key]).toEqual([origin, origin === relay.baseUrl ? 'key' : undefined]);
  }
  expect(new Set(sent.map(([origin]) => origin))).toEqual(
    new Set([relay.baseUrl, provider.origin]),
  );
});

test('no request follows a redirect: no secret goes to an address that nobody named', async () => {
  using elsewhere = serveUpstream(() => Response.json({ accessToken: 'stolen' }));
  const there = `${elsewhere.origin}/there`;
  using moved = serveUpstream(() => Response.redirect(`${there}?secret=1`, 307));
  const tokens = { accessToken: 'old', refreshToken: 'secret' };
  for (const own of [{}, { tokenUrl: moved.url, clientId: 'c' }]) {
    const storage = createMemory();
    const at = { relay: moved.origin, service: 'acme', storage };
    storage.setItem(keyOf(at), JSON.stringify({ ...tokens, ...own }));
    const failed = await failureOf(createSession(at).getToken({ rejected: 'old' }));
    const { message } = failed as SignInError;
    expect(message).toContain(`answered 307: a redirect to ${there}`);
    expect(message).not.toContain('secret');
  }
  expect(elsewhere.requests).toEqual([]);
});

test('blind where the relay offers it: the device alone exchanges and refreshes', async () => {
  const formsBefore = provider.forms.length;
  const session = await signInAtOnce({ details: true });
  const { before: tokens, after: fresh } = await refreshed(session);
  expect(tokens).toMatchObject({
    tokenType: 'Bearer',
    scope: 'read',
    clientId: 'relay-client',
    tokenUrl: provider.url,
  });
  expect(fresh?.tokenUrl).toBe(provider.url);
  const [exchange, renewal, ...rest] = provider.forms.slice(formsBefore);
  expect(exchange?.get('code_verifier')).toMatch(/^[\w-]{43}$/);
  expect(Object.fromEntries(renewal ?? [])).toEqual({
    grant_type: 'refresh_token',
    client_id: 'relay-client',
    refresh_token: String(tokens?.refreshToken),
  });
  expect(rest).toEqual([]);
});

test('where the relay has a secret, or the app says so, the relay exchanges', async () => {
  for (const options of [{ service: 'confidential' }, { blind: false }]) {
    const { before: tokens } = await refreshed(await signInAtOnce(options));
    expect(Object.keys(tokens ?? {}).toSorted()).toEqual([
      'accessToken',
      'expiresAt',
      'expiresIn',
      'refreshToken',
    ]);
    expect(provider.forms.at(-1)?.get('refresh_token')).toBe(String(tokens?.refreshToken));
  }
});
