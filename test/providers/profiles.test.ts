/** Every profile signs in and refreshes at a mock provider that requires what the real one documents. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { PROFILES } from '../../src/providers/known.ts';
import { factsOf, type Profile } from '../../src/providers/profile.ts';
import { mayTakeChallenge, type ProviderConfig } from '../../src/providers/provider.ts';
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
import { DOCUMENTED, type Documented, ID, OWN, playProvider, SECRET } from './documented.ts';

setDefaultTimeout(30_000);

const NAMED = Object.entries(DOCUMENTED);

/** A relay whose operator set a client id and what the provider issues besides, and nothing else. */
function configure(name: string): readonly ProviderConfig[] {
  const prefix = `${name.toUpperCase()}_`;
  const { auth, authorizeUrl } = DOCUMENTED[name] as Documented;
  const env = {
    [`${prefix}CLIENT_ID`]: ID,
    ...(auth !== 'none' && { [`${prefix}CLIENT_SECRET`]: SECRET }),
    ...(authorizeUrl.startsWith(OWN) && { [`${prefix}URL`]: `${OWN}/` }),
  };
  const read = readSettings({ OAUTH_BASE_URL: BASE_URL, PROVIDERS: name, ...env }, () => '');
  if (!read.ok) throw new Error(JSON.stringify(read.faults));
  return read.settings.providers;
}

/** A service with these providers, and the documented provider behind it. */
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

test('each provider with a profile has its requirements in documented.ts', () => {
  expect(Object.keys(DOCUMENTED).toSorted()).toEqual([...PROFILES.keys()].toSorted());
});

describe.each(NAMED)('%s', (name, documented) => {
  const refreshes = documented.refreshToken !== 'none';

  test('signs in with a client id and what the provider issues besides', async () => {
    const { expires_in: lifetime = 'expires_in' in (documented.response ?? {}) ? 0 : 3_600 } =
      documented.response ?? {};
    expect(await signIn(name, meet(name, documented))).toEqual({
      accessToken: expect.stringMatching(/^access-/),
      ...(refreshes && { refreshToken: expect.stringMatching(/^refresh-/) }),
      ...(Number(lifetime) > 0 && { expiresIn: Number(lifetime) }),
    });
  });

  test('each fact has a source that can be opened, or is unverified, and the day it was read', () => {
    const profile = PROFILES.get(name) as Profile;
    const { checked, sources, unverified = {} } = profile.evidence;
    const known = new Set([...Object.values(sources).flat(), ...Object.keys(unverified)]);
    const facts = factsOf(profile);
    expect(facts.length).toBeGreaterThan(10);
    expect([...known].toSorted()).toEqual(facts.toSorted());
    expect(Object.keys(sources).filter((url) => new URL(url).protocol !== 'https:')).toEqual([]);
    expect(checked.on).toMatch(/^20\d\d-\d\d-\d\d$/);
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

  test('a refresh token that it does not know is refused, mostly with invalid_grant', async () => {
    const { status, body } = await refresh(meet(name, documented).service, 'stale', {}, name);
    expect([status, body.error]).toEqual([400, documented.refusesRefreshAs ?? 'invalid_grant']);
  });
});

const REVOKING = NAMED.filter(([, { revocation }]) => revocation !== undefined);
const OTHERS = NAMED.filter(([, { revocation }]) => revocation === undefined);

const revoke = ({ service }: Meeting, name: string, tokens: object) => {
  const body = JSON.stringify({ service: name, ...tokens });
  return service.ask('/revoke', { method: 'POST', body });
};

test.each(REVOKING)(
  '%s: signing out revokes every token that it takes',
  async (name, documented) => {
    const meeting = meet(name, documented);
    const { accessToken, refreshToken } = await signIn(name, meeting);
    const response = await revoke(meeting, name, { accessToken, refreshToken });
    expect([response.status, await response.text()]).toEqual([200, '{}']);
    const taken = documented.revocation?.accessOnly ? [] : [refreshToken];
    expect(meeting.provider.revoked).toEqual([...taken, accessToken] as string[]);
  },
);

test.each(OTHERS)('%s: there is no endpoint to sign out at', async (name, documented) => {
  const meeting = meet(name, documented);
  const response = await revoke(meeting, name, { accessToken: 'access' });
  const { removeAt } = PROFILES.get(name) as Profile;
  expect([response.status, await response.json()]).toEqual([
    400,
    { error: 'unsupported', ...(removeAt !== undefined && { removeAt }) },
  ]);
});

test('with only the endpoints, only one of them would sign in and give what the profile gets', async () => {
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
  expect(enough.flat()).toEqual(['anilist']);
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

test('a relay process logs what is unverified, and sends what a profile requires', async () => {
  using trakt = serveUpstream(() => Response.json({ access_token: 'token' }));
  const relay = await startRelay({
    PROVIDERS: 'trakt,strava',
    ...{ STRAVA_CLIENT_ID: 'strava', STRAVA_CLIENT_SECRET: 'secret' },
    ...{ TRAKT_CLIENT_ID: 'client', TRAKT_CLIENT_SECRET: 'secret', TRAKT_TOKEN_URL: trakt.url },
    TRAKT_USER_AGENT: 'acme-tv/1.0 (https://tv.example)',
  });
  const doubts = relay.events('setting').map(({ setting, problem }) => `${setting} ${problem}`);
  expect(doubts.filter((doubt) => /^(TRAKT|STRAVA)/.test(doubt))).toEqual([
    expect.stringMatching(/^TRAKT_CLIENT_ID .* unverified: PKCE, client secret/),
    expect.stringMatching(
      /^STRAVA_CLIENT_ID belongs to Strava, of which this is unverified: PKCE, revocation/,
    ),
  ]);
  const { session, state } = await start(relay, 'trakt');
  await callback(relay, state, 'code=a%26b', 'trakt');
  expect(await (await poll(relay, session)).json()).toEqual({ accessToken: 'token' });
  const [request] = trakt.requests;
  expect(JSON.parse(request?.body ?? '')).toEqual({
    grant_type: 'authorization_code',
    code: 'a&b',
    redirect_uri: `${relay.baseUrl}/auth/trakt/callback`,
    code_verifier: expect.stringMatching(/^[\w-]{64}$/),
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

test('Discord, Spotify, GitLab and Trakt need no secret, so that devices can exchange the code themselves', () => {
  const withoutSecret = ['discord', 'spotify', 'gitlab', 'trakt'].map((name) => {
    const env = { OAUTH_BASE_URL: BASE_URL, APP_NAME: 'Acme', PROVIDERS: name };
    return readSettings({ ...env, [`${name.toUpperCase()}_CLIENT_ID`]: ID }, () => '');
  });
  for (const read of withoutSecret) {
    expect(read.warnings.filter(({ setting }) => setting.endsWith('_SECRET'))).toEqual([]);
    expect(read.ok && read.settings.providers.map(mayTakeChallenge)).toEqual([true]);
  }
});

test('the requests of mal and anilist have exactly these headers and fields', async () => {
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
