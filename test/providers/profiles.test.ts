/** Every provider with a profile: who gets its secret, and that the relay asks it as the profile says. */
import { expect, test } from 'bun:test';
import { hash } from 'node:crypto';
import { prefixOf } from '../../src/providers/config.ts';
import { OWN_URL, PROFILES, type Profile } from '../../src/providers/profiles.ts';
import { findUrlProblem } from '../../src/providers/url.ts';
import { readSettings } from '../../src/settings/index.ts';
import { poll, refresh, start } from '../kit/device.ts';
import { BASE_URL, createTestService } from '../kit/service.ts';
import { callback } from '../kit/user.ts';

/** Where the client secret and the tokens go, if not to the domain at which users sign in. */
const OTHER_DOMAINS: Readonly<Record<string, string>> = {
  google: 'googleapis.com',
  youtube: 'googleapis.com',
  dropbox: 'dropboxapi.com',
  epicgames: 'epicgames.dev',
};

const ID = 'client';
const SECRET = 'secret/of=the+client';
const USER_AGENT = 'acme-tv/1.0 (https://tv.example)';
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

/** A service whose operator set a client id and what the provider issues besides. */
function meet(name: string) {
  const profile = PROFILES.get(name) as Profile;
  const prefix = prefixOf(name);
  const env = {
    [`${prefix}CLIENT_ID`]: ID,
    [`${prefix}USER_AGENT`]: USER_AGENT,
    ...(profile.clientSecret !== 'none' && { [`${prefix}CLIENT_SECRET`]: SECRET }),
    ...(profile.authorizeUrl.startsWith(OWN_URL) &&
      !profile.defaultUrl && { [`${prefix}URL`]: `${OWN}/` }),
  };
  const read = readSettings({ OAUTH_BASE_URL: BASE_URL, PROVIDERS: name, ...env }, () => '');
  if (!read.ok) throw new Error(JSON.stringify(read.faults));
  const fetch = async () => Response.json({ access_token: 'access', refresh_token: 'refresh' });
  const service = createTestService({ providers: read.settings.providers, fetch });
  return { profile, service, sent: service.sent };
}

test.each([...PROFILES.keys()])('%s: signs in and refreshes at its endpoints', async (name) => {
  const { profile, service, sent } = meet(name);
  const { authorizeUrl, tokenUrl, refreshUrl = tokenUrl, pkce, clientSecret } = profile;
  const { session, url, state } = await start(service, name);
  const link = (await service.ask(url)).headers.get('location') ?? '';
  expect(link).toStartWith(`${urlOf(authorizeUrl, profile)}?`);
  await callback(service, state, 'code=c', name);
  expect(await (await poll(service, session)).json()).toMatchObject({ accessToken: 'access' });
  expect((await refresh(service, 'old', {}, name)).status).toBe(200);
  expect(sent.map((each) => each.url)).toEqual([
    urlOf(tokenUrl, profile),
    urlOf(refreshUrl, profile),
  ]);
  const challenge = new URL(link).searchParams.get('code_challenge') ?? undefined;
  const verifier = sent[0]?.fields.code_verifier;
  const s256 = hash('sha256', verifier ?? '', 'base64url');
  expect(challenge).toBe({ none: undefined, plain: verifier, S256: s256 }[pkce]);
  for (const { headers, fields } of sent) {
    const shown = [headers.authorization, fields.client_secret].filter(Boolean);
    expect(shown).toHaveLength(clientSecret === 'none' ? 0 : 1);
  }
});

const CODE = { grant_type: 'authorization_code', code: 'a&b' };
const OLD = { grant_type: 'refresh_token', refresh_token: 'old' };
const CLIENT = { client_id: ID, client_secret: SECRET };
const FORM = { 'content-type': 'application/x-www-form-urlencoded', 'user-agent': USER_AGENT };

/** One provider for each way in which they differ: the redirect's parameters, headers, and fields. */
test.each<[string, object, object, exchange: object, refresh: object, takesRedirectUri?: true]>([
  [
    'mal',
    { code_challenge_method: 'plain' },
    FORM,
    { ...CODE, ...CLIENT, code_verifier: expect.any(String) },
    { ...OLD, ...CLIENT },
  ],
  [
    'spotify',
    { code_challenge_method: 'S256', scope: 'user-read-email' },
    { ...FORM, authorization: BASIC },
    { ...CODE, code_verifier: expect.any(String) },
    OLD,
  ],
  [
    'reddit',
    { scope: 'identity', duration: 'permanent' },
    { ...FORM, authorization: BASIC },
    CODE,
    OLD,
  ],
  [
    'trakt',
    { code_challenge_method: 'S256' },
    { 'content-type': 'application/json', 'user-agent': USER_AGENT, 'trakt-api-key': ID },
    { ...CODE, ...CLIENT, code_verifier: expect.any(String) },
    { ...OLD, ...CLIENT },
    true,
  ],
  ['homeassistant', {}, FORM, { ...CODE, client_id: ID }, { ...OLD, client_id: ID }],
])('%s: sends what its profile says, and nothing else', async (name, ...expected) => {
  const [query, headers, exchanged, refreshed, takesRedirectUri] = expected;
  const { service, sent } = meet(name);
  const { url, state } = await start(service, name);
  const link = new URL((await service.ask(url)).headers.get('location') ?? '');
  const { code_challenge: _, ...parameters } = Object.fromEntries(link.searchParams);
  const redirect = { redirect_uri: `${BASE_URL}/auth/${name}/callback` };
  const common = { response_type: 'code', client_id: ID, state, ...redirect };
  expect(parameters).toEqual({ ...common, ...query });
  await callback(service, state, 'code=a%26b', name);
  await refresh(service, 'old', {}, name);
  const always = { accept: 'application/json', 'accept-encoding': 'identity' };
  for (const each of sent) {
    expect(each).toMatchObject({ method: 'POST', headers: { ...always, ...headers } });
  }
  const again = takesRedirectUri ? redirect : {};
  expect(sent.map(({ fields }) => fields)).toEqual([
    { ...exchanged, ...redirect },
    { ...refreshed, ...again },
  ] as never);
});

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
  const { profile, service, sent } = meet(name);
  const body = JSON.stringify({ service: name, accessToken: 'access' });
  expect((await service.ask('/revoke', { method: 'POST', body })).status).toBe(200);
  const url = urlOf(profile.revocation?.url ?? '', profile);
  expect(sent).toMatchObject([{ url, method, headers }]);
  expect(sent[0]?.fields).toEqual(fields);
  expect(sent[0]?.headers.authorization).toBe(headers.authorization);
});
