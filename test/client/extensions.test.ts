/** The SDK and what a relay offers on request: the menu, 'opened', cancelling, refreshing and blind sign-ins. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { hash, randomUUID } from 'node:crypto';
import {
  discover,
  type Prompt,
  refresh,
  resume,
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

const save = () => {};
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
    PROVIDERS: 'acme,confidential',
    START_BURST: '1000',
    ACME_DISPLAY_NAME: 'Acme Music',
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
  return signIn({ ...place, save, code: false, onPrompt, ...options });
}

test('the menu of a television has the names of the services', async () => {
  const { services } = await discover(place);
  expect(services).toEqual([
    { service: 'acme', name: 'Acme Music', blind: 'can', revoke: false },
    { service: 'confidential', name: 'Confidential', blind: 'no', revoke: false },
  ]);
});

test('a user who leaves cancels without an error, and the link shows that', async () => {
  const prompted = Promise.withResolvers<Prompt>();
  const leaving = new AbortController();
  const { signal } = leaving;
  const done = signIn({ ...place, save, onPrompt: prompted.resolve, signal });
  const { link } = await prompted.promise;
  expect((await relay.ask(link)).status).toBe(200);
  leaving.abort();
  expect(await done).toBeUndefined();
  await pollUntil('the link is cancelled', async () => (await relay.ask(link)).status === 404);
  expect(
    await signIn({ ...place, save, onPrompt: () => expect.unreachable(), signal }),
  ).toBeUndefined();
});

test('an onPrompt or onOpened that rejects later rejects the sign-in, and the link is cancelled', async () => {
  const trouble = new Error('no screen');
  for (const name of ['onPrompt', 'onOpened'] as const) {
    let seen = '';
    const show = async ({ link }: Prompt) => {
      seen = link;
      if (name === 'onOpened') await openLink(link);
    };
    const reject = async () => {
      await Bun.sleep(0);
      throw trouble;
    };
    const both = { onPrompt: show, onOpened: () => {} };
    const onPrompt = async (prompt: Prompt) => {
      await show(prompt);
      if (name === 'onPrompt') await reject();
    };
    const options = name === 'onPrompt' ? { ...both, onPrompt } : { ...both, onOpened: reject };
    expect(await failureOf(signIn({ ...place, save, code: false, ...options }))).toBe(trouble);
    await pollUntil('the link is cancelled', async () => (await relay.ask(seen)).status === 404);
  }
});

test('a time-out of the app is told from Back', async () => {
  const signal = AbortSignal.timeout(300);
  const failed = await failureOf(signIn({ ...place, save, onPrompt() {}, signal }));
  expect(failed).toBeInstanceOf(SignInError);
  expect(failed).toMatchObject({ code: 'timeout', cause: signal.reason });
  expect(await failureOf(discover({ ...place, signal }))).toMatchObject({ code: 'timeout' });
});

test('headers are sent to the relay and not to the provider, through the fetch of the app', async () => {
  const sent: [string, unknown][] = [];
  const options = {
    headers: { 'X-App-Key': 'key' },
    fetch(url: string, init: object) {
      const { headers } = init as { headers?: Record<string, string> };
      sent.push([new URL(url).origin, headers?.['X-App-Key']]);
      return fetch(url, init);
    },
  };
  const tokens = await signInAtOnce(options);
  if (tokens === undefined) return expect.unreachable();
  await refresh({ ...place, ...options, tokens });
  await refresh({
    ...place,
    ...options,
    blind: false,
    tokens: { ...tokens, tokenUrl: '' },
  } as never);
  for (const [origin, key] of sent) {
    expect([origin, key]).toEqual([origin, origin === relay.baseUrl ? 'key' : undefined]);
  }
  expect(new Set(sent.map(([origin]) => origin))).toEqual(
    new Set([relay.baseUrl, provider.origin]),
  );
});

test('no request follows a redirect, so that no secret goes to an address that nobody named', async () => {
  let reached = 0;
  const elsewhere = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch() {
      reached += 1;
      return Response.json({ accessToken: 'stolen' });
    },
  });
  const moved = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => Response.redirect(`${elsewhere.url.origin}/there?secret=1`, 307),
  });
  const tokens = { accessToken: 'old', refreshToken: 'secret' };
  const tokenUrl = `${moved.url.origin}/token`;
  for (const own of [{}, { tokenUrl, clientId: 'c' }]) {
    const failed = await failureOf(
      refresh({ relay: moved.url.origin, service: 'acme', tokens: { ...tokens, ...own } }),
    );
    const { message } = failed as SignInError;
    expect(message).toContain(`answered 307: a redirect to ${elsewhere.url.origin}/there`);
    expect(message).not.toContain('secret');
  }
  expect(reached).toBe(0);
  await Promise.all([elsewhere.stop(true), moved.stop(true)]);
});

test('an error reads as one sentence, has its cause, and shows no token', async () => {
  const failed = (await failureOf(discover({ relay: 'relay.example' }))) as SignInError;
  expect(failed.message).toBe(failed.detail);
  expect(String(failed)).toBe(
    'SignInError: This is no http or https address without a password: relay.example/services',
  );
  const full = new Error('disk full');
  const unsaved = (await failureOf(
    signInAtOnce({
      save() {
        throw full;
      },
    }),
  )) as SignInError;
  expect(unsaved).toMatchObject({ code: 'not_saved', cause: full });
  expect(unsaved.tokens).toMatchObject({ accessToken: expect.any(String) });
  expect(Bun.inspect(unsaved)).not.toContain(String(unsaved.tokens?.accessToken));
});

test('in parts: a start, a poll that is left and taken up again, and a cancelled session', async () => {
  const session = await start({ ...place, code: false });
  if (session === undefined) return expect.unreachable();
  const leaving = new AbortController();
  const left = session.poll({ save, signal: leaving.signal });
  leaving.abort();
  expect(await left).toBeUndefined();
  const comeBack = await openLink(session.prompt.link);
  await comeBack();
  expect(await session.poll({ save })).toMatchObject({ expiresIn: 3_600 });

  const other = await start(place);
  await other?.cancel();
  expect(await failureOf(other?.poll({ save }) ?? Promise.resolve())).toMatchObject({
    code: 'expired',
  });

  const third = await start({ ...place, code: false });
  if (third === undefined) return expect.unreachable();
  const again = resume(third.state, place);
  expect(again?.prompt.link).toBe(third.prompt.link);
  await (await openLink(third.prompt.link))();
  expect(await again?.poll({ save })).toMatchObject({ expiresIn: 3_600 });
  expect(resume(third.state, { ...place, service: 'confidential' })).toBeUndefined();
});

test('blind where the relay offers it: the device alone exchanges the code, and refreshes', async () => {
  const before = provider.forms.length;
  const tokens = await signInAtOnce({ details: true });
  expect(tokens).toMatchObject({
    tokenType: 'Bearer',
    scope: 'read',
    clientId: 'relay-client',
    tokenUrl: `${provider.origin}/token`,
  });
  if (tokens === undefined) return expect.unreachable();
  const fresh = await refresh({ ...place, tokens });
  expect(fresh.accessToken).not.toBe(tokens.accessToken);
  expect(fresh.tokenUrl).toBe(`${provider.origin}/token`);
  const [exchange, renewal, ...rest] = provider.forms.slice(before);
  expect(exchange?.get('code_verifier')).toMatch(/^[\w-]{43}$/);
  expect(Object.fromEntries(renewal ?? [])).toEqual({
    grant_type: 'refresh_token',
    client_id: 'relay-client',
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
      'accessToken',
      'expiresAt',
      'expiresIn',
      'refreshToken',
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
