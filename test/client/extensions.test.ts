/** The SDK and what a relay offers on request: the menu, 'opened', cancelling, refreshing and blind sign-ins. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { hash, randomUUID } from 'node:crypto';
import {
  discover,
  keepTokens,
  type Prompt,
  refresh,
  SignInError,
  type SignInOptions,
  signIn,
  start,
} from '../../client/src/index.ts';
import { type RelayProcess, startRelay } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';
import { makeCode } from '../kit/user.ts';
import { failureOf, pollUntil } from '../kit/wait.ts';

/** Public clients of one provider with S256, and of another without. Its codes are worth what their challenge says. */
function startProvider() {
  const challenges = new Map<string, string | null>();
  const forms: URLSearchParams[] = [];
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const form = new URLSearchParams(await request.text());
      forms.push(form);
      const code = form.get('code') ?? '';
      const isRefresh = form.get('grant_type') === 'refresh_token';
      const proof = hash('sha256', form.get('code_verifier') ?? '', 'base64url');
      const challenge = challenges.get(code);
      challenges.delete(code);
      const isGood = isRefresh ? form.get('refresh_token') !== 'used' : challenge === proof;
      if (!isGood) return Response.json({ error: 'invalid_grant' }, { status: 400 });
      return Response.json({
        access_token: plantSecret(`access-${randomUUID()}`),
        refresh_token: plantSecret(`refresh-${randomUUID()}`),
        expires_in: 3_600,
        token_type: 'Bearer',
        scope: 'read',
      });
    },
  });
  return { server, challenges, forms, origin: server.url.origin };
}

let provider: ReturnType<typeof startProvider>;
let relay: RelayProcess;
let place: { relay: string; service: string };

beforeAll(async () => {
  provider = startProvider();
  const at = (name: string, path: string) => ({
    [`${name}_CLIENT_ID`]: 'relay-client',
    [`${name}_AUTHORIZE_URL`]: `${provider.origin}/authorize`,
    [`${name}_TOKEN_URL`]: `${provider.origin}/${path}`,
    [`${name}_PKCE`]: 'S256',
  });
  relay = await startRelay({
    ...{ PROVIDERS: 'acme,confidential', START_BURST: '1000', ACME_DISPLAY_NAME: 'Acme Music' },
    ...at('ACME', 'token'),
    ...at('CONFIDENTIAL', 'token'),
    CONFIDENTIAL_CLIENT_SECRET: plantSecret('the-secret-of-the-relay-alone'),
  });
  place = { relay: relay.baseUrl, service: 'acme' };
});

afterAll(async () => {
  await relay.stop();
  await provider.server.stop(true);
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

/** The user signs in as soon as there is a link. */
function signInAtOnce(options: Partial<SignInOptions> = {}) {
  const onPrompt = ({ link }: Prompt) => void openLink(link).then((comeBack) => comeBack());
  return signIn({ ...place, code: false, onPrompt, ...options });
}

test('the menu of a television has the names of the services', async () => {
  const { services } = await discover(place);
  expect(services).toEqual([
    { service: 'acme', name: 'Acme Music', blind: 'can' },
    { service: 'confidential', name: 'Confidential', blind: 'no' },
  ]);
});

test('a user who leaves cancels without an error, and the link shows that', async () => {
  const prompted = Promise.withResolvers<Prompt>();
  const leaving = new AbortController();
  const { signal } = leaving;
  const done = signIn({ ...place, onPrompt: prompted.resolve, signal });
  const { link } = await prompted.promise;
  expect((await relay.ask(link)).status).toBe(200);
  leaving.abort();
  expect(await done).toBeUndefined();
  await pollUntil('the link is cancelled', async () => (await relay.ask(link)).status === 404);
  expect(await signIn({ ...place, onPrompt: () => expect.unreachable(), signal })).toBeUndefined();
});

test('in parts: a start, a poll that is left and taken up again, and a cancelled session', async () => {
  const session = await start({ ...place, code: false });
  if (session === undefined) return expect.unreachable();
  const leaving = new AbortController();
  const left = session.poll({ signal: leaving.signal });
  leaving.abort();
  expect(await left).toBeUndefined();
  const comeBack = await openLink(session.prompt.link);
  await comeBack();
  expect(await session.poll()).toMatchObject({ expiresIn: 3_600 });

  const other = await start(place);
  await other?.cancel();
  expect(await failureOf(other?.poll() ?? Promise.resolve())).toMatchObject({ code: 'expired' });
});

test('blind where the relay offers it: the device alone exchanges the code, and refreshes', async () => {
  const before = provider.forms.length;
  const tokens = await signInAtOnce({ details: true });
  expect(tokens).toMatchObject({
    ...{ tokenType: 'Bearer', scope: 'read', clientId: 'relay-client' },
    tokenUrl: `${provider.origin}/token`,
  });
  if (tokens === undefined) return expect.unreachable();
  const fresh = await refresh({ ...place, tokens });
  expect(fresh.accessToken).not.toBe(tokens.accessToken);
  expect(fresh.tokenUrl).toBe(`${provider.origin}/token`);
  const [exchange, renewal, ...rest] = provider.forms.slice(before);
  expect(exchange?.get('code_verifier')).toMatch(/^[\w-]{43}$/);
  expect(Object.fromEntries(renewal ?? [])).toEqual({
    ...{ grant_type: 'refresh_token', client_id: 'relay-client' },
    refresh_token: String(tokens.refreshToken),
  });
  expect(rest).toEqual([]);
});

test('a code is sent to no other address than the one that the app names', async () => {
  const other = startProvider();
  const failed = await failureOf(signInAtOnce({ tokenUrl: `${other.origin}/own` }));
  expect(failed).toMatchObject({ code: 'exchange_failed' });
  expect(other.forms.length).toBe(1);
  await other.server.stop(true);
});

test('where the relay has a client secret, and where the app says so, the relay exchanges and refreshes', async () => {
  for (const options of [{ service: 'confidential' }, { blind: false }]) {
    const tokens = await signInAtOnce(options);
    if (tokens === undefined) return expect.unreachable();
    expect(Object.keys(tokens).toSorted()).toEqual([
      ...['accessToken', 'expiresAt', 'expiresIn', 'refreshToken'],
    ]);
    const fresh = await refresh({ ...place, ...options, tokens });
    expect(fresh.accessToken).not.toBe(tokens.accessToken);
    expect(provider.forms.at(-1)?.get('refresh_token')).toBe(String(tokens.refreshToken));
  }
  const used = { accessToken: 'old', refreshToken: 'used' };
  const failed = await failureOf(refresh({ ...place, service: 'confidential', tokens: used }));
  expect(failed).toBeInstanceOf(SignInError);
  expect(failed).toMatchObject({ code: 'invalid_grant', show: 'Please sign in again.' });
});

test('the caller gets what the storage throws', async () => {
  const trouble = new Error('disk full');
  const accessToken = keepTokens({
    ...place,
    load() {
      throw trouble;
    },
    save: () => {},
  });
  expect(await failureOf(accessToken())).toBe(trouble);
});
