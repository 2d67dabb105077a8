/**
 * Every profile signs in and refreshes, over the wire, at a mock provider that
 * insists on what the real one documents (docs/providers/). What each insists on is
 * written here once more, so that a change of a profile has to be meant.
 */
import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { hash } from 'node:crypto';
import { findProfile, PROFILE_NAMES } from '../../src/providers/profiles/index.ts';
import { factsByName } from '../../src/providers/profiles/profile.ts';
import type { ProviderConfig } from '../../src/providers/provider.ts';
import { readSettings } from '../../src/settings/index.ts';
import {
  authorizeDevice,
  DEVICE_CODE_GRANT,
  poll,
  refresh,
  requestToken,
  start,
} from '../kit/device.ts';
import { serveUpstream } from '../kit/provider.ts';
import { startRelay } from '../kit/relay.ts';
import { BASE_URL, createTestService, type Fetch } from '../kit/service.ts';
import { callback, decide } from '../kit/user.ts';

setDefaultTimeout(30_000);

/** What a provider insists on, and how it answers. */
interface Documented {
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  /** 'none': it refuses a challenge, or nobody knows that it takes one. */
  readonly pkce: 'none' | 'plain' | 'S256';
  /** Empty: no scope may be sent. */
  readonly scope: string;
  /** Without these it gives no refresh token. */
  readonly offline?: Readonly<Record<string, string>>;
  readonly auth: 'post' | 'basic';
  readonly body?: 'json';
  readonly headers?: Readonly<Record<string, string>>;
  readonly refreshesWithRedirectUri?: true;
  /** 'none': it never gives a refresh token. */
  readonly refreshToken: 'kept' | 'rotated' | 'none';
  /** What its responses have besides, or in another form. */
  readonly response?: Readonly<Record<string, unknown>>;
  /** What a refusal looks like. */
  readonly refusal?: { readonly status: number; readonly body: unknown };
}

const AGENT = { 'user-agent': 'sign-in-relay' };
const google = {
  authorizeUrl: 'https://accounts.google.com/o/oauth2/v2/auth',
  tokenUrl: 'https://oauth2.googleapis.com/token',
  pkce: 'S256',
  auth: 'post',
  refreshToken: 'kept',
  offline: { access_type: 'offline', prompt: 'consent' },
} as const;

const DOCUMENTED: Readonly<Record<string, Documented>> = {
  mal: {
    authorizeUrl: 'https://myanimelist.net/v1/oauth2/authorize',
    tokenUrl: 'https://myanimelist.net/v1/oauth2/token',
    ...{ pkce: 'plain', scope: '', auth: 'post', refreshToken: 'rotated' },
    refusal: { status: 400, body: { error: 'invalid_request', hint: 'Token has been revoked' } },
  },
  anilist: {
    authorizeUrl: 'https://anilist.co/api/v2/oauth/authorize',
    tokenUrl: 'https://anilist.co/api/v2/oauth/token',
    ...{ pkce: 'none', scope: '', auth: 'post', refreshToken: 'none' },
    response: { expires_in: 31_536_000, refresh_token: null },
  },
  kitsu: {
    authorizeUrl: 'https://kitsu.app/api/oauth/authorize',
    tokenUrl: 'https://kitsu.app/api/oauth/token',
    ...{ pkce: 'none', scope: '', auth: 'post', refreshToken: 'rotated' },
    response: { scope: 'public', created_at: 1 },
  },
  shikimori: {
    authorizeUrl: 'https://shikimori.io/oauth/authorize',
    tokenUrl: 'https://shikimori.io/oauth/token',
    ...{ pkce: 'none', scope: 'user_rates', auth: 'post', refreshToken: 'rotated' },
    headers: AGENT,
    response: { created_at: 1 },
  },
  bangumi: {
    authorizeUrl: 'https://bgm.tv/oauth/authorize',
    tokenUrl: 'https://bgm.tv/oauth/access_token',
    ...{ pkce: 'none', scope: '', auth: 'post', refreshToken: 'rotated' },
    ...{ headers: AGENT, refreshesWithRedirectUri: true },
    response: { scope: null },
  },
  simkl: {
    authorizeUrl: 'https://simkl.com/oauth/authorize',
    tokenUrl: 'https://api.simkl.com/oauth/token',
    ...{ pkce: 'none', scope: '', auth: 'post', refreshToken: 'none' },
    headers: AGENT,
    response: { scope: 'public', expires_in: 157_680_000 },
  },
  trakt: {
    authorizeUrl: 'https://auth.trakt.tv/oauth/authorize',
    tokenUrl: 'https://auth.trakt.tv/oauth/token',
    ...{ pkce: 'none', scope: '', auth: 'post', body: 'json', refreshToken: 'rotated' },
    headers: { ...AGENT, 'trakt-api-key': 'client' },
    refreshesWithRedirectUri: true,
    response: { scope: 'public', created_at: 1 },
  },
  spotify: {
    authorizeUrl: 'https://accounts.spotify.com/authorize',
    tokenUrl: 'https://accounts.spotify.com/api/token',
    ...{ pkce: 'S256', scope: 'user-read-email', auth: 'basic', refreshToken: 'kept' },
  },
  google: { ...google, scope: 'openid email profile', response: { id_token: 'id-token' } },
  youtube: { ...google, scope: 'https://www.googleapis.com/auth/youtube.readonly' },
  twitch: {
    authorizeUrl: 'https://id.twitch.tv/oauth2/authorize',
    tokenUrl: 'https://id.twitch.tv/oauth2/token',
    ...{ pkce: 'none', scope: 'user:read:email', auth: 'post', refreshToken: 'rotated' },
    response: { scope: ['user:read:email', 'channel:read:polls'] },
    refusal: { status: 400, body: { status: 400, message: 'Invalid refresh token' } },
  },
  vimeo: {
    authorizeUrl: 'https://api.vimeo.com/oauth/authorize',
    tokenUrl: 'https://api.vimeo.com/oauth/access_token',
    ...{ pkce: 'none', scope: 'public', auth: 'basic', refreshToken: 'none' },
    response: { expires_in: undefined, user: { name: 'x'.repeat(2_000) } },
  },
  soundcloud: {
    authorizeUrl: 'https://secure.soundcloud.com/authorize',
    tokenUrl: 'https://secure.soundcloud.com/oauth/token',
    ...{ pkce: 'S256', scope: '', auth: 'post', refreshToken: 'rotated' },
    response: { scope: '' },
  },
  patreon: {
    authorizeUrl: 'https://www.patreon.com/oauth2/authorize',
    tokenUrl: 'https://www.patreon.com/api/oauth2/token',
    ...{ pkce: 'none', scope: 'identity', auth: 'post', refreshToken: 'rotated' },
    headers: AGENT,
  },
  discord: {
    authorizeUrl: 'https://discord.com/oauth2/authorize',
    tokenUrl: 'https://discord.com/api/oauth2/token',
    ...{ pkce: 'S256', scope: 'identify', auth: 'post', refreshToken: 'rotated' },
  },
  reddit: {
    authorizeUrl: 'https://www.reddit.com/api/v1/authorize',
    tokenUrl: 'https://www.reddit.com/api/v1/access_token',
    ...{ pkce: 'none', scope: 'identity', auth: 'basic', refreshToken: 'kept' },
    ...{ offline: { duration: 'permanent' }, headers: AGENT },
    refusal: { status: 200, body: { error: 'invalid_grant' } },
  },
  github: {
    authorizeUrl: 'https://github.com/login/oauth/authorize',
    tokenUrl: 'https://github.com/login/oauth/access_token',
    ...{ pkce: 'S256', scope: 'read:user', auth: 'post', refreshToken: 'rotated' },
    headers: { accept: 'application/json' },
    response: { expires_in: '28800', refresh_token_expires_in: '15811200', scope: '' },
    refusal: { status: 200, body: { error: 'bad_refresh_token' } },
  },
  gitlab: {
    authorizeUrl: 'https://gitlab.com/oauth/authorize',
    tokenUrl: 'https://gitlab.com/oauth/token',
    ...{ pkce: 'S256', scope: 'read_user', auth: 'post', refreshToken: 'rotated' },
    refreshesWithRedirectUri: true,
    response: { created_at: 1 },
  },
  microsoft: {
    authorizeUrl: 'https://login.microsoftonline.com/common/oauth2/v2.0/authorize',
    tokenUrl: 'https://login.microsoftonline.com/common/oauth2/v2.0/token',
    ...{ pkce: 'S256', auth: 'post', refreshToken: 'rotated' },
    scope: 'openid profile offline_access User.Read',
    response: { ext_expires_in: 3_600, id_token: 'id-token' },
  },
  facebook: {
    authorizeUrl: 'https://www.facebook.com/v22.0/dialog/oauth',
    tokenUrl: 'https://graph.facebook.com/v22.0/oauth/access_token',
    ...{ pkce: 'none', scope: 'public_profile', auth: 'post', refreshToken: 'none' },
    refusal: { status: 400, body: { error: { message: 'no', type: 'OAuthException', code: 1 } } },
  },
  x: {
    authorizeUrl: 'https://x.com/i/oauth2/authorize',
    tokenUrl: 'https://api.x.com/2/oauth2/token',
    ...{ pkce: 'S256', auth: 'basic', refreshToken: 'rotated' },
    scope: 'tweet.read users.read offline.access',
  },
  dropbox: {
    authorizeUrl: 'https://www.dropbox.com/oauth2/authorize',
    tokenUrl: 'https://api.dropboxapi.com/oauth2/token',
    ...{ pkce: 'S256', scope: 'account_info.read', auth: 'post', refreshToken: 'kept' },
    offline: { token_access_type: 'offline' },
    response: { uid: '1', account_id: 'dbid:1' },
  },
  strava: {
    authorizeUrl: 'https://www.strava.com/oauth/authorize',
    tokenUrl: 'https://www.strava.com/oauth/token',
    ...{ pkce: 'none', scope: 'read', auth: 'post', refreshToken: 'rotated' },
    response: { expires_at: 1, athlete: { id: 1 } },
  },
  fitbit: {
    authorizeUrl: 'https://www.fitbit.com/oauth2/authorize',
    tokenUrl: 'https://api.fitbit.com/oauth2/token',
    ...{ pkce: 'S256', scope: 'profile', auth: 'basic', refreshToken: 'rotated' },
    response: { user_id: 'A' },
  },
};

const NAMED = Object.entries(DOCUMENTED);
const ID = 'client';
const SECRET = 'secret/of=the+client';

/** A provider that insists on what is documented of it. Its own words say what it misses. */
function playProvider(name: string, documented: Documented) {
  const { authorizeUrl, tokenUrl, pkce, scope, offline = {}, auth, body } = documented;
  const redirectUri = `${BASE_URL}/auth/${name}/callback`;
  const codes = new Map<string, { readonly challenge: string; readonly offline: boolean }>();
  const refreshTokens = new Set<string>();
  let granted = 0;

  /** The page where the user signs in: what the browser brings back. Throws what is wrong with the request. */
  function authorize(address: string): { readonly state: string; readonly code: string } {
    const url = new URL(address);
    const sent = Object.fromEntries(url.searchParams);
    const { state = '', code_challenge: challenge = '', ...rest } = sent;
    expect(`${url.origin}${url.pathname}`).toBe(authorizeUrl);
    expect(rest).toMatchObject({ response_type: 'code', client_id: ID, redirect_uri: redirectUri });
    expect(sent.scope).toBe(scope === '' ? undefined : scope);
    expect(sent.code_challenge_method).toBe(pkce === 'none' ? undefined : pkce);
    expect(challenge === '').toBe(pkce === 'none');
    granted += 1;
    const code = `code-${granted}`;
    const asked = Object.entries(offline).every(([parameter, value]) => sent[parameter] === value);
    codes.set(code, { challenge, offline: asked });
    return { state, code };
  }

  async function answer(url: string, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    const text = String(init.body);
    const type = headers.get('content-type');
    const refuse = () => {
      const { status, body: refusal } = documented.refusal ?? {
        status: 400,
        body: { error: 'invalid_grant' },
      };
      return Response.json(refusal, { status });
    };
    if (url !== tokenUrl) return new Response(null, { status: 404 });
    if (type !== (body ? 'application/json' : 'application/x-www-form-urlencoded')) {
      return Response.json({ error: 'invalid_request' }, { status: 415 });
    }
    const sent: Record<string, string> = body
      ? JSON.parse(text)
      : Object.fromEntries(new URLSearchParams(text));
    for (const [header, value] of Object.entries(documented.headers ?? {})) {
      if (headers.get(header) !== value) return new Response('who are you?', { status: 403 });
    }
    const basic = `Basic ${btoa([ID, SECRET].map(encodeURIComponent).join(':'))}`;
    const knows =
      auth === 'basic'
        ? headers.get('authorization') === basic && !('client_secret' in sent)
        : sent.client_id === ID && sent.client_secret === SECRET && !headers.has('authorization');
    if (!knows) return Response.json({ error: 'invalid_client' }, { status: 401 });

    if (sent.grant_type === 'refresh_token') {
      const { refresh_token: brought = '', redirect_uri: redirect } = sent;
      if (documented.refreshesWithRedirectUri && redirect !== redirectUri) return refuse();
      if (!refreshTokens.has(brought)) return refuse();
      if (documented.refreshToken === 'kept') return grant({});
      refreshTokens.delete(brought);
      return grant({ refresh_token: issueRefreshToken() });
    }
    const { code = '', code_verifier: verifier = '' } = sent;
    const authorized = codes.get(code);
    codes.delete(code);
    if (!authorized || sent.redirect_uri !== redirectUri) return refuse();
    const expected = { none: '', plain: verifier, S256: hash('sha256', verifier, 'base64url') };
    if (authorized.challenge !== expected[pkce] || (pkce === 'none' && verifier)) return refuse();
    const refreshes = documented.refreshToken !== 'none' && authorized.offline;
    return grant(refreshes ? { refresh_token: issueRefreshToken() } : {});
  }

  function issueRefreshToken(): string {
    granted += 1;
    refreshTokens.add(`refresh-${granted}`);
    return `refresh-${granted}`;
  }

  function grant(tokens: object): Response {
    granted += 1;
    const usual = { access_token: `access-${granted}`, token_type: 'bearer', expires_in: 3_600 };
    return Response.json({ ...usual, scope, ...documented.response, ...tokens });
  }

  return { authorize, answer, refreshTokens };
}

/** A relay whose operator set a client id and a secret, and nothing else. */
function configure(name: string): readonly ProviderConfig[] {
  const prefix = `${name.toUpperCase()}_`;
  const env = { [`${prefix}CLIENT_ID`]: ID, [`${prefix}CLIENT_SECRET`]: SECRET };
  const read = readSettings({ OAUTH_BASE_URL: BASE_URL, PROVIDERS: name, ...env }, () => '');
  if (!read.ok) throw new Error(JSON.stringify(read.faults));
  return read.settings.providers;
}

/** Meets the provider that is documented, with whatever the relay knows of it. */
function meet(name: string, documented: Documented, providers = configure(name)) {
  const provider = playProvider(name, documented);
  return { provider, service: createTestService({ providers }, { fetch: provider.answer }) };
}

type Meeting = ReturnType<typeof meet>;

/** What the device gets that started this sign-in. */
async function signIn(name: string, { service, provider }: Meeting) {
  const { session, url, state } = await start(service, name);
  const link = await service.ask(url);
  const back = provider.authorize(link.headers.get('location') ?? '');
  expect(back.state).toBe(state);
  await callback(service, state, `code=${back.code}`, name);
  return (await (await poll(service, session)).json()) as Record<string, unknown>;
}

test('what each provider with a profile insists on is written here', () => {
  expect(Object.keys(DOCUMENTED).toSorted()).toEqual(PROFILE_NAMES.toSorted());
});

describe.each(NAMED)('%s', (name, documented) => {
  const refreshes = documented.refreshToken !== 'none';

  test('signs in with a client id and a secret alone', async () => {
    const { expires_in: lifetime = 'expires_in' in (documented.response ?? {}) ? 0 : 3_600 } =
      documented.response ?? {};
    expect(await signIn(name, meet(name, documented))).toEqual({
      accessToken: expect.stringMatching(/^access-/),
      ...(refreshes && { refreshToken: expect.stringMatching(/^refresh-/) }),
      ...(Number(lifetime) > 0 && { expiresIn: Number(lifetime) }),
    });
  });

  test('each fact has a source that can be opened, or is unverified, and the day it was read', () => {
    const profile = findProfile(name);
    const facts = profile ? factsByName(profile) : [];
    expect(facts.length).toBeGreaterThan(10);
    for (const [fact, { sources, readOn, unverified }] of facts) {
      const isSourced = sources.length > 0 || unverified !== undefined;
      const areOpen = sources.every((source) => new URL(source).protocol === 'https:');
      expect([fact, isSourced && areOpen]).toEqual([fact, true]);
      expect(readOn).toMatch(/^20\d\d-\d\d-\d\d$/);
    }
  });
});

const REFRESHING = NAMED.filter(([, { refreshToken }]) => refreshToken !== 'none');

describe.each(REFRESHING)('%s', (name, documented) => {
  test('refreshes, and refreshes with what that gave', async () => {
    const meeting = meet(name, documented);
    const { refreshToken: first } = await signIn(name, meeting);
    const once = await refresh(meeting.service, String(first), {}, name);
    expect(once.body).toMatchObject({ access_token: expect.stringMatching(/^access-/) });
    const next = String(once.body.refresh_token ?? first);
    expect(next === first).toBe(documented.refreshToken === 'kept');
    const twice = await refresh(meeting.service, next, { scope: 'narrower' }, name);
    expect(twice.body).toMatchObject({ access_token: expect.stringMatching(/^access-/) });
  });

  test('a refresh token that it does not know is invalid_grant', async () => {
    const { status, body } = await refresh(meet(name, documented).service, 'stale', {}, name);
    expect([status, body.error]).toEqual([400, 'invalid_grant']);
  });
});

test('with the addresses alone, only two of them would sign in and give what the profile gets', async () => {
  const enough = await Promise.all(
    NAMED.map(async ([name, documented]) => {
      const [{ authorizeUrl, tokenUrl }] = [documented];
      const bare: ProviderConfig = {
        ...{ name, displayName: name, authorizeUrl, tokenUrl, clientId: ID, clientSecret: SECRET },
        ...{ clientAuth: 'post', pkce: 'none', authorizeParams: {} },
      };
      const tokens = await signIn(name, meet(name, documented, [bare])).catch(() => ({}));
      const isEnough =
        'accessToken' in tokens && (documented.refreshToken === 'none' || 'refreshToken' in tokens);
      return isEnough ? [name] : [];
    }),
  );
  expect(enough.flat()).toEqual(['anilist', 'kitsu']);
});

test('a list of scopes reaches a device of the device grant as RFC 6749 §5.1 has it', async () => {
  const { service, provider } = meet('twitch', DOCUMENTED.twitch as Documented);
  const { deviceCode, link } = await authorizeDevice(service, {}, 'twitch');
  const response = await decide(service, link);
  const { state, code } = provider.authorize(response.headers.get('location') ?? '');
  await callback(service, state, `code=${code}`, 'twitch');
  const grant = { grant_type: DEVICE_CODE_GRANT, device_code: deviceCode };
  const { body } = await requestToken(service, grant, {}, 'twitch');
  expect(body.scope).toBe('user:read:email channel:read:polls');
});

test('a relay in a process of its own logs what is doubtful, and sends what a profile asks for', async () => {
  using trakt = serveUpstream(() => Response.json({ access_token: 'token' }));
  const relay = await startRelay({
    ...{ PROVIDERS: 'trakt,osu', OSU_CLIENT_ID: 'osu', OSU_CLIENT_SECRET: 'secret' },
    ...{ TRAKT_CLIENT_ID: 'client', TRAKT_CLIENT_SECRET: 'secret', TRAKT_TOKEN_URL: trakt.url },
    TRAKT_USER_AGENT: 'acme-tv/1.0 (https://tv.example)',
  });
  const doubts = relay.events('setting').map(({ setting, problem }) => `${setting} ${problem}`);
  expect(doubts.filter((doubt) => /^(TRAKT|OSU)/.test(doubt))).toEqual([
    expect.stringMatching(
      /^TRAKT_CLIENT_ID belongs to Trakt, of which this is unverified: lifetime/,
    ),
    expect.stringMatching(/^OSU_CLIENT_ID .* set OSU_PKCE and OSU_SCOPE as its documentation says/),
  ]);
  const { session, state } = await start(relay, 'trakt');
  await callback(relay, state, 'code=a%26b', 'trakt');
  expect(await (await poll(relay, session)).json()).toEqual({ accessToken: 'token' });
  const [request] = trakt.requests;
  expect(JSON.parse(request?.body ?? '')).toEqual({
    grant_type: 'authorization_code',
    code: 'a&b',
    redirect_uri: `${relay.baseUrl}/auth/trakt/callback`,
    client_id: 'client',
    client_secret: 'secret',
  });
  expect(Object.fromEntries(request?.headers ?? [])).toMatchObject({
    'content-type': 'application/json',
    'trakt-api-key': 'client',
    'user-agent': 'acme-tv/1.0 (https://tv.example)',
  });
  expect(await relay.stop()).toBe(0);
});

test('the requests of mal and anilist have no header and no field but those of before', async () => {
  const seen: Record<string, unknown> = {};
  const fetch: Fetch = async (url, { headers, body }) => {
    seen[url] = { headers, fields: [...new URLSearchParams(String(body)).keys()] };
    return Response.json({ access_token: 'token' });
  };
  for (const name of ['mal', 'anilist']) {
    const service = createTestService({ providers: configure(name) }, { fetch });
    const { url, state } = await start(service, name);
    const link = new URL((await service.ask(url)).headers.get('location') ?? '');
    seen[name] = [...link.searchParams.keys()];
    await callback(service, state, 'code=c', name);
  }
  const headers = {
    'Content-Type': 'application/x-www-form-urlencoded',
    ...{ Accept: 'application/json', 'Accept-Encoding': 'identity' },
  };
  const request = ['response_type', 'client_id', 'redirect_uri', 'state'];
  const fields = ['grant_type', 'code', 'redirect_uri', 'client_id', 'client_secret'];
  expect(seen).toEqual({
    mal: [...request, 'code_challenge', 'code_challenge_method'],
    'https://myanimelist.net/v1/oauth2/token': {
      headers,
      fields: fields.toSpliced(3, 0, 'code_verifier'),
    },
    anilist: request,
    'https://anilist.co/api/v2/oauth/token': { headers, fields },
  });
});
