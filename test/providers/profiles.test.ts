/** Every provider with a profile: who gets its secret, and that the relay asks it as the profile says. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { hash } from 'node:crypto';
import { mayTakeChallenge, prefixOf } from '../../src/providers/config.ts';
import { OWN_URL, type Profile } from '../../src/providers/profile.ts';
import { PROFILES, UNSUPPORTED } from '../../src/providers/profiles.ts';
import { findUrlProblem } from '../../src/providers/url.ts';
import { readSettings } from '../../src/settings/index.ts';
import { poll, refresh, start } from '../kit/device.ts';
import { serveUpstream } from '../kit/provider.ts';
import { startRelay } from '../kit/relay.ts';
import { BASE_URL, createTestService, type Fetch } from '../kit/service.ts';
import { callback } from '../kit/user.ts';

setDefaultTimeout(30_000);

/** Where the client secret and the tokens go, if not to the domain at which users sign in. */
const OTHER_DOMAINS: Readonly<Record<string, string>> = {
  google: 'googleapis.com',
  youtube: 'googleapis.com',
  dropbox: 'dropboxapi.com',
  epicgames: 'epicgames.dev',
};

const ID = 'client';
const SECRET = 'secret/of=the+client';
const BASIC = `Basic ${btoa([ID, SECRET].map(encodeURIComponent).join(':'))}`;

/** The address of a server that people host themselves. */
const OWN = 'https://own.example/path';
const urlOf = (url: string, { defaultUrl = OWN }: Profile) =>
  url.replace(OWN_URL, defaultUrl).replace('[client id]', ID);

test.each([...PROFILES])(
  '%s: secret and tokens go to the domain at which users sign in, over https',
  (name, profile) => {
    const { authorizeUrl, tokenUrl, refreshUrl = tokenUrl, revocation } = profile;
    const domainOf = (url: string) => new URL(url).host.split('.').slice(-2).join('.');
    const signIn = urlOf(authorizeUrl, profile);
    expect(findUrlProblem(signIn)).toBeUndefined();
    const expected = OTHER_DOMAINS[name] ?? domainOf(signIn);
    for (const each of [tokenUrl, refreshUrl, revocation?.url ?? tokenUrl]) {
      const url = urlOf(each, profile);
      expect(findUrlProblem(url)).toBeUndefined();
      expect(domainOf(url)).toBe(expected);
    }
  },
);

interface Sent {
  readonly url: string;
  readonly method: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly fields: Readonly<Record<string, string>>;
}

/** A service whose operator set a client id and what the provider issues besides, and the requests that its provider gets. */
function meet(name: string, profile: Profile) {
  const prefix = `${name.toUpperCase()}_`;
  const env = {
    [`${prefix}CLIENT_ID`]: ID,
    ...(profile.clientSecret !== 'none' && { [`${prefix}CLIENT_SECRET`]: SECRET }),
    ...(profile.authorizeUrl.startsWith(OWN_URL) &&
      !profile.defaultUrl && { [`${prefix}URL`]: `${OWN}/` }),
  };
  const read = readSettings({ OAUTH_BASE_URL: BASE_URL, PROVIDERS: name, ...env }, () => '');
  if (!read.ok) throw new Error(JSON.stringify(read.faults));
  const sent: Sent[] = [];
  const fetch: Fetch = async (url, { method, headers, body }) => {
    const all = Object.fromEntries(new Headers(headers));
    const fields =
      all['content-type'] === 'application/json'
        ? JSON.parse(String(body))
        : Object.fromEntries(new URLSearchParams(body));
    sent.push({ url, method, headers: all, fields });
    return Response.json({ access_token: 'access', refresh_token: 'refresh' });
  };
  return { sent, service: createTestService({ providers: read.settings.providers }, { fetch }) };
}

/** A token request, as the profile says, with the fields of a grant. */
function tokenRequest(
  profile: Profile,
  grant: Readonly<Record<string, unknown>>,
  url = profile.tokenUrl,
) {
  const { clientAuth = 'post', clientSecret, quirks = {} } = profile;
  const isJson = quirks.tokenRequest === 'json';
  return {
    url: urlOf(url, profile),
    method: 'POST',
    headers: {
      accept: 'application/json',
      'accept-encoding': 'identity',
      'content-type': isJson ? 'application/json' : 'application/x-www-form-urlencoded',
      ...(clientAuth === 'basic' && { authorization: BASIC }),
      'user-agent': quirks.userAgent ?? 'sign-in-relay',
      ...(quirks.clientIdHeader && { [quirks.clientIdHeader]: ID }),
    },
    fields: {
      ...grant,
      ...(clientAuth === 'post' && { client_id: ID }),
      ...(clientAuth === 'post' && clientSecret !== 'none' && { client_secret: SECRET }),
    },
  };
}

describe.each([...PROFILES])('%s', (name, profile) => {
  const redirectUri = `${BASE_URL}/auth/${name}/callback`;
  const { pkce, scope, authorizeParams = {}, quirks = {} } = profile;

  test('signs in with a client id and what the provider issues besides', async () => {
    const { service, sent } = meet(name, profile);
    const { session, url, state } = await start(service, name);
    const link = new URL((await service.ask(url)).headers.get('location') ?? '');
    const { code_challenge: challenge, ...parameters } = Object.fromEntries(link.searchParams);
    expect(link.href).toStartWith(`${urlOf(profile.authorizeUrl, profile)}?`);
    expect(parameters).toEqual({
      response_type: 'code',
      client_id: ID,
      redirect_uri: redirectUri,
      state,
      ...(scope && { scope }),
      ...authorizeParams,
      ...(pkce !== 'none' && { code_challenge_method: pkce }),
    });
    await callback(service, state, 'code=c', name);
    expect(await (await poll(service, session)).json()).toMatchObject({ accessToken: 'access' });
    const verifier = sent[0]?.fields.code_verifier;
    const grant = {
      grant_type: 'authorization_code',
      code: 'c',
      redirect_uri: redirectUri,
      ...(pkce !== 'none' && { code_verifier: verifier }),
    };
    expect(sent).toEqual([tokenRequest(profile, grant)] as never);
    const expected = { none: undefined, plain: verifier, S256: s256Of(verifier) };
    expect(challenge).toBe(expected[pkce]);
  });

  test('refreshes', async () => {
    const { service, sent } = meet(name, profile);
    expect((await refresh(service, 'old', {}, name)).status).toBe(200);
    const grant = {
      grant_type: 'refresh_token',
      refresh_token: 'old',
      ...(quirks.refreshesWithRedirectUri && { redirect_uri: redirectUri }),
    };
    expect(sent).toEqual([tokenRequest(profile, grant, profile.refreshUrl)] as never);
  });
});

const s256Of = (verifier = '') => hash('sha256', verifier, 'base64url');

const CLIENT = { client_id: ID, client_secret: SECRET };

/** Those that differ from RFC 7009 §2.1 (test/oauth/revoke.test.ts), one of each kind. */
test.each<[string, string, Record<string, string>, Record<string, string>]>([
  ['google', 'POST', {}, { token: 'access' }],
  ['twitch', 'POST', {}, { client_id: ID, token: 'access' }],
  ['trakt', 'POST', { 'content-type': 'application/json' }, { ...CLIENT, token: 'access' }],
  [
    'strava',
    'POST',
    { authorization: BASIC },
    { token: 'access', token_type_hint: 'access_token' },
  ],
  ['soundcloud', 'POST', { 'content-type': 'application/json' }, { access_token: 'access' }],
  [
    'github',
    'DELETE',
    { authorization: BASIC, 'content-type': 'application/json' },
    { access_token: 'access' },
  ],
  ['vimeo', 'DELETE', { authorization: 'Bearer access' }, {}],
])('%s: a token is revoked as its endpoint takes it', async (name, method, headers, fields) => {
  const profile = PROFILES.get(name) as Profile;
  const { service, sent } = meet(name, profile);
  const body = JSON.stringify({ service: name, accessToken: 'access' });
  expect((await service.ask('/revoke', { method: 'POST', body })).status).toBe(200);
  const url = urlOf(profile.revocation?.url ?? '', profile);
  expect(sent).toMatchObject([{ url, method, headers }]);
  expect(sent[0]?.fields).toEqual(fields);
  expect(sent[0]?.headers.authorization).toBe(headers.authorization);
});

test('a relay process sends what a profile requires', async () => {
  using trakt = serveUpstream(() => Response.json({ access_token: 'token' }));
  const relay = await startRelay({
    PROVIDERS: 'trakt',
    TRAKT_CLIENT_ID: 'client',
    TRAKT_CLIENT_SECRET: 'secret',
    TRAKT_TOKEN_URL: trakt.url,
    TRAKT_USER_AGENT: 'acme-tv/1.0 (https://tv.example)',
  });
  const { state } = await start(relay, 'trakt');
  expect((await callback(relay, state, 'code=a%26b', 'trakt')).status).toBe(200);
  const [request] = trakt.requests;
  expect(JSON.parse(request?.body ?? '')).toMatchObject({ code: 'a&b', client_secret: 'secret' });
  expect(Object.fromEntries(request?.headers ?? [])).toMatchObject({
    'content-type': 'application/json',
    'trakt-api-key': 'client',
    'user-agent': 'acme-tv/1.0 (https://tv.example)',
  });
  expect(await relay.stop()).toBe(0);
});

test('Discord, Spotify, GitLab and Trakt need no secret, so devices may exchange', () => {
  for (const name of ['discord', 'spotify', 'gitlab', 'trakt']) {
    const env = { OAUTH_BASE_URL: BASE_URL, PROVIDERS: name };
    const read = readSettings({ ...env, [`${name.toUpperCase()}_CLIENT_ID`]: ID }, () => '');
    expect(read.warnings.filter(({ setting }) => setting.endsWith('_SECRET'))).toEqual([]);
    expect(read.ok && read.settings.providers.map(mayTakeChallenge)).toEqual([true]);
  }
});

test('a provider that can’t be enabled by its name needs endpoints of its own', () => {
  for (const name of UNSUPPORTED) {
    const prefix = prefixOf(name);
    const env = { PROVIDERS: name, [`${prefix}CLIENT_ID`]: 'id' };
    expect(readSettings(env, () => '')).toMatchObject({
      faults: [
        {
          setting: 'PROVIDERS',
          problem: expect.stringContaining(`sign-in-relay providers ${name}`),
        },
      ],
    });
    const endpoints = {
      [`${prefix}AUTHORIZE_URL`]: 'https://own.example/authorize',
      [`${prefix}TOKEN_URL`]: 'https://own.example/token',
    };
    expect(readSettings({ ...env, ...endpoints }, () => '').ok).toBe(true);
  }
});
