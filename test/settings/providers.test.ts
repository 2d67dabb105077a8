/** Which providers are enabled, what they become, and what their settings may hold. */
import { describe, expect, test } from 'bun:test';
import { type ProviderConfig, prefixOf } from '../../src/providers/config.ts';
import { INVISIBLE } from '../kit/random.ts';
import { ACME, type Environment, faultsOf, read, settingsOf, testRules } from './read.ts';

const OWN = 'https://own.example/url';
const STRAVA = { PROVIDERS: 'strava', STRAVA_CLIENT_ID: 's', STRAVA_CLIENT_SECRET: 'secret' };
const OWN_STRAVA = { ...STRAVA, STRAVA_TOKEN_URL: OWN };
const FIGMA = { PROVIDERS: 'figma', FIGMA_CLIENT_ID: 'f' };
const OWN_FIGMA = { ...FIGMA, FIGMA_TOKEN_URL: OWN };

test.each<[Environment, object]>([
  // A client id alone enables nothing.
  [{ PROVIDERS: 'anilist', MAL_CLIENT_ID: 'm', ANILIST_CLIENT_ID: 'a' }, { name: 'anilist' }],
  [{ PROVIDERS: 'my-acme', MY_ACME_CLIENT_ID: 'id', MY_ACME_ISSUER: OWN }, { name: 'my-acme' }],
  // The endpoints of a profile get only the tokens that its own token endpoint gave.
  [STRAVA, { revocation: { url: 'https://www.strava.com/oauth/revoke', clientAuth: 'basic' } }],
  [OWN_STRAVA, { revocation: undefined }],
  [{ ...OWN_STRAVA, STRAVA_REVOKE_URL: OWN }, { revocation: { url: OWN, clientAuth: 'basic' } }],
  [{ ...STRAVA, STRAVA_ISSUER: OWN, STRAVA_REVOKE_URL: OWN }, { revocation: { url: OWN } }],
  [FIGMA, { refreshUrl: 'https://api.figma.com/v1/oauth/refresh' }],
  [OWN_FIGMA, { refreshUrl: undefined }],
  [{ ...OWN_FIGMA, FIGMA_REFRESH_URL: OWN }, { refreshUrl: OWN }],
  // Settings override a profile, but parameters are added to its own.
  [
    {
      PROVIDERS: 'google',
      GOOGLE_CLIENT_ID: 'g',
      GOOGLE_DISPLAY_NAME: 'G',
      GOOGLE_TOKEN_URL: 'http://127.0.0.1:9/token',
      GOOGLE_SCOPE: 'openid',
      GOOGLE_PKCE: 'none',
      GOOGLE_AUTHORIZE_PARAMS: 'prompt=select_account&hl=de',
      GOOGLE_USER_AGENT: 'acme-tv/1.0',
    },
    {
      displayName: 'G',
      authorizeUrl: 'https://accounts.google.com/o/oauth2/v2/auth',
      tokenUrl: 'http://127.0.0.1:9/token',
      scope: 'openid',
      pkce: 'none',
      authorizeParams: { access_type: 'offline', prompt: 'select_account', hl: 'de' },
      quirks: { userAgent: 'acme-tv/1.0' },
    },
  ],
])('%j is a provider with %j', (env, expected) => {
  const [provider, ...others] = settingsOf(env).providers;
  expect(others).toEqual([]);
  const names = Object.keys(expected) as (keyof ProviderConfig)[];
  const found: unknown = Object.fromEntries(names.map((name) => [name, provider?.[name]]));
  expect(found).toEqual(expected);
});

const ISSUED = { clientId: 'id', issuer: OWN, authorizeParams: {} };

test.each<[Environment, object]>([
  [
    ACME,
    {
      name: 'acme',
      displayName: 'Acme',
      authorizeUrl: 'https://acme.example/authorize',
      tokenUrl: 'https://acme.example/token',
      clientId: 'id',
      pkce: 'none',
      clientAuth: 'post',
      authorizeParams: {},
    },
  ],
  [
    { PROVIDERS: 'acme', ACME_CLIENT_ID: 'id', ACME_ISSUER: OWN },
    { name: 'acme', displayName: 'Acme', ...ISSUED },
  ],
  // It has a profile, but its issuer decides the rest.
  [
    { PROVIDERS: 'gitlab', GITLAB_CLIENT_ID: 'id', GITLAB_ISSUER: OWN },
    { name: 'gitlab', displayName: 'GitLab', ...ISSUED },
  ],
])('%j is %j, and nothing else', (env, provider) => {
  expect(settingsOf(env).providers).toEqual([provider as ProviderConfig]);
});

describe('PROVIDERS', () => {
  const NAME_RULE = 'a name has only lowercase letters, digits and -, and does not begin with -.';

  test.each([
    ['start', 'lists start, which is a path of the relay'],
    ['mal,mal', 'lists mal twice'],
    ['GitHub', `lists "GitHub"; ${NAME_RULE} Did you mean github?`],
    ['-mal', `lists "-mal"; ${NAME_RULE} Did you mean mal?`],
    ['y!', `lists "y!"; ${NAME_RULE}`],
  ])('%j is a fault', (written, problem) => {
    expect(faultsOf({ PROVIDERS: written })).toEqual([`PROVIDERS ${problem}`]);
  });

  test.each([
    ['spotfy', ' Did you mean spotify?'],
    ['my-anime-list', ' Did you mean mal?'],
    ['xyzzyplugh', ''],
    ['amazon', ''],
  ])('an unknown name, %j, is a fault that names the nearest known', (name, hint) => {
    const prefix = prefixOf(name);
    const toSet = `set ${prefix}AUTHORIZE_URL and ${prefix}TOKEN_URL, or ${prefix}ISSUER (sign-in-relay providers ${name} may say more).`;
    expect(faultsOf({ PROVIDERS: name, [`${prefix}CLIENT_ID`]: 'id' })).toEqual([
      `PROVIDERS lists ${name}, which has no profile: ${toSet}${hint}`,
    ]);
  });

  test('a name that every object has is as unknown as any other', () => {
    expect(faultsOf({ PROVIDERS: 'constructor', CONSTRUCTOR_CLIENT_ID: 'id' })).toHaveLength(1);
  });
});

const addresses = {
  keeps:
    'https://acme.example | https://acme.example/a | http://localhost:3000/x | http://127.8.9.1/x | http://[::1]:1/x',
  refuses: {
    'must be https':
      'http://acme.example/x | http://localhost.acme.example/x | http://127.0.0.1.acme.example/x | http://10.0.0.1/x',
    'must not contain a user name or password':
      'https://user:pass@acme.example/x | https://@acme.example/x',
    'must not contain a fragment': 'https://acme.example/x#y | https://acme.example/x#',
    'must be a URL such as https://':
      'acme.example/x | https:acme.example | https://acme.example/a b | javascript:alert(1)',
  },
};
const endpoint = {
  keeps: `${addresses.keeps} | https://acme.example/a?tenant=1`,
  refuses: {
    ...addresses.refuses,
    'must not contain client_id: the relay sets it': 'https://acme.example/a?client_id=x',
  },
};
const CONTROL = 'must not contain a line break or another control character';

testRules(
  [
    {
      setting: 'ACME_CLIENT_ID',
      path: 'providers.0.clientId',
      reads: { ' ab\n': 'ab' },
      refuses: { [CONTROL]: 'a\nb' },
    },
    {
      setting: 'ACME_CLIENT_SECRET',
      path: 'providers.0.clientSecret',
      // Only the provider knows which blanks belong to a secret.
      reads: { ' ab ': ' ab ' },
      refuses: { [CONTROL]: 'a\nb | ab\n | a\u0000b' },
    },
    { setting: 'ACME_AUTHORIZE_URL', path: 'providers.0.authorizeUrl', ...endpoint },
    { setting: 'ACME_TOKEN_URL', path: 'providers.0.tokenUrl', ...endpoint },
    { setting: 'ACME_REFRESH_URL', path: 'providers.0.refreshUrl', ...endpoint },
    {
      setting: 'ACME_REVOKE_URL',
      path: 'providers.0.revocation',
      reads: { 'https://acme.example/revoke': { url: 'https://acme.example/revoke' } },
      refuses: {
        ...addresses.refuses,
        'must not contain token': 'https://acme.example/revoke?token=x',
      },
    },
    {
      setting: 'ACME_ISSUER',
      path: 'providers.0.issuer',
      ...addresses,
      // RFC 8414 §2.
      refuses: { ...addresses.refuses, 'must not contain a query': 'https://acme.example?x' },
    },
    {
      setting: 'ACME_DISPLAY_NAME',
      path: 'providers.0.displayName',
      keeps: 'ACME | スポティファイ',
      reads: { ' ACME ': 'ACME' },
      refuses: {
        'must be 1 to 40 visible characters': 'x'.repeat(41),
        'must not contain invisible characters': INVISIBLE.map((invisible) => `Acme${invisible}TV`),
      },
    },
    {
      setting: 'ACME_SCOPE',
      path: 'providers.0.scope',
      // Some providers want spaces, some commas.
      keeps: 'read,activity:read',
      reads: { ' read   write ': 'read write' },
    },
    {
      setting: 'ACME_PKCE',
      path: 'providers.0.pkce',
      keeps: 'none | plain | S256',
      reads: { s256: 'S256' },
      refuses: { 'must be none, plain or S256': 'constructor | S512' },
    },
    {
      setting: 'ACME_CLIENT_AUTH',
      path: 'providers.0.clientAuth',
      keeps: 'post | basic',
      reads: { BASIC: 'basic' },
      refuses: { 'must be post or basic': 'jwt' },
    },
    {
      setting: 'ACME_USER_AGENT',
      path: 'providers.0.quirks',
      reads: { ' acme-tv/1.0 ': { userAgent: 'acme-tv/1.0' } },
      refuses: { 'must be 1 to 200 characters of ASCII': ['a\nb', 'アクメ', 'x'.repeat(201)] },
    },
    {
      setting: 'ACME_AUTHORIZE_PARAMS',
      path: 'providers.0.authorizeParams',
      reads: { 'access_type=offline&prompt=a%20b': { access_type: 'offline', prompt: 'a b' } },
      refuses: {
        ...Object.fromEntries(
          'response_type | client_id | redirect_uri | state | code_challenge | code_challenge_method'
            .split(' | ')
            .map((name) => [`must not contain ${name}: the relay sets it`, `a=b&${name}=x`]),
        ),
        'must not contain scope: use the setting that ends in _SCOPE': 'a=b&scope=x',
        'must contain each parameter once': 'a=b&a=c',
        'must be written as a query': 'prompt | a=b&&c | =b | {"a":"b"}',
      },
    },
  ],
  ACME,
);

describe('_URL', () => {
  const gitlab = { PROVIDERS: 'gitlab', GITLAB_CLIENT_ID: 'id' };
  const mastodon = { PROVIDERS: 'mastodon', MASTODON_CLIENT_ID: 'id' };
  const endpointsOf = (env: Record<string, string>) => {
    const [{ authorizeUrl, tokenUrl, revocation } = {}] = settingsOf(env).providers;
    return [authorizeUrl, tokenUrl, revocation?.url];
  };

  test('replaces the address of all endpoints, with or without a final slash', () => {
    const own = 'https://git.acme.example:8443/gitlab';
    const expected = ['authorize', 'token', 'revoke'].map((path) => `${own}/oauth/${path}`);
    expect(endpointsOf({ ...gitlab, GITLAB_URL: own })).toEqual(expected);
    expect(endpointsOf({ ...gitlab, GITLAB_URL: ` ${own}/ ` })).toEqual(expected);
    const dollars = endpointsOf({ ...gitlab, GITLAB_URL: 'https://git.acme.example/$&' });
    expect(dollars).toContain('https://git.acme.example/$&/oauth/token');
  });

  test('unset, it is that of the public server, or a fault if there is none', () => {
    expect(endpointsOf(gitlab)).toContain('https://gitlab.com/oauth/token');
    expect(faultsOf(mastodon)).toEqual([
      'MASTODON_URL must be set to the address of your Mastodon server',
    ]);
    expect(faultsOf({ PROVIDERS: 'mastodon' })).toEqual([]);
    const both = { AUTHORIZE_URL: 'https://a.example/a', TOKEN_URL: 'https://a.example/t' };
    const own = Object.entries(both).map(([key, url]) => [`MASTODON_${key}`, url]);
    expect(faultsOf({ ...mastodon, ...Object.fromEntries(own) })).toEqual([]);
  });

  test('of a provider that has none it has no effect, another program may use it', () => {
    const github = { PROVIDERS: 'github', GITHUB_CLIENT_ID: 'id', GITHUB_URL: 'not a URL' };
    expect(faultsOf(github)).toEqual([]);
    expect(read(github).warnings.map(({ setting }) => setting)).not.toContain('GITHUB_URL');
  });
});

testRules(
  [
    {
      setting: 'MASTODON_URL',
      path: 'providers.0.authorizeUrl',
      refuses: {
        'must be a URL': 'social.example',
        'must be https': 'http://social.example',
        'must not contain a fragment': 'https://social.example/#x',
        'must not contain a query': 'https://social.example/?x',
      },
    },
  ],
  { PROVIDERS: 'mastodon', MASTODON_CLIENT_ID: 'id' },
);

describe('BLIND=always', () => {
  const S256 = { ...ACME, ACME_PKCE: 'S256' };
  const ISSUER = { PROVIDERS: 'acme', ACME_CLIENT_ID: 'id', ACME_ISSUER: 'https://acme.example' };
  const SECRET = { ACME_CLIENT_SECRET: 'a-secret' };
  const REFRESH_URL = { ACME_REFRESH_URL: 'https://acme.example/r' };
  const NO_S256 = 'acme does not use PKCE with S256 (ACME_PKCE)';
  const HAS_SECRET = 'acme has a client secret (ACME_CLIENT_SECRET)';
  const REFRESHES = 'acme has a refresh endpoint (ACME_REFRESH_URL)';

  test.each<[string, Record<string, string>, string | undefined]>([
    ['S256 and no secret', S256, undefined],
    ['an issuer that has yet to say', ISSUER, undefined],
    ['a provider that is not enabled', { ...S256, PROVIDERS: 'acme,mal' }, undefined],
    ['no PKCE', ACME, NO_S256],
    ['plain', { ...S256, ACME_PKCE: 'plain' }, NO_S256],
    ['a secret', { ...S256, ...SECRET }, HAS_SECRET],
    ['a refresh endpoint of its own', { ...S256, ...REFRESH_URL }, REFRESHES],
  ])('%s: a provider at which the relay would see tokens is a fault', (_, env, why) => {
    const faults = why === undefined ? [] : [`BLIND must not be always: ${why}`];
    expect(faultsOf({ ...env, BLIND: 'always' })).toEqual(faults);
    for (const BLIND of ['allow', 'never']) expect(faultsOf({ ...env, BLIND })).toEqual([]);
  });
});
