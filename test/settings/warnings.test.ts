import { describe, expect, test } from 'bun:test';
import { readSettings } from '../../src/settings/index.ts';
import { warningsOf } from './read.ts';

const MAL = { MAL_CLIENT_ID: 'id' };
const SPOTIFY = { PROVIDERS: 'spotify', SPOTIFY_CLIENT_ID: 'id' };
const GOOGLE = { PROVIDERS: 'google', GOOGLE_CLIENT_ID: 'id' };
const BANGUMI = { PROVIDERS: 'bangumi', BANGUMI_CLIENT_ID: 'id', BANGUMI_CLIENT_SECRET: 's' };
const STRAVA = { PROVIDERS: 'strava', STRAVA_CLIENT_ID: 'id', STRAVA_CLIENT_SECRET: 's' };
const NOBODY = 'PROVIDERS lists no provider with a client id, so nobody can sign in';
const NO_NAME =
  'APP_NAME is not set: the page that asks users to continue names only relay.example';
const NO_PKCE = 'uses no PKCE: it will probably issue no tokens';
const FORGEABLE = 'TRUSTED_PROXY_CIDRS trusts every address: anyone can forge a client address';
const OPEN_ADMIN = 'ADMIN_HOST lets other machines read ADMIN_PORT, since ADMIN_TOKEN is not set';
const ADMIN = { ...MAL, ADMIN_PORT: '9090' };

test.each<[string, Record<string, string>, string[]]>([
  ['an https address', { ...MAL, OAUTH_BASE_URL: 'https://relay.example' }, []],
  [
    'plain http',
    { ...MAL, OAUTH_BASE_URL: 'http://relay.example' },
    ['OAUTH_BASE_URL is plain http: anyone on the network path can read the tokens'],
  ],
  ['plain http on this machine', { ...MAL, OAUTH_BASE_URL: 'http://localhost:8080' }, []],
  [
    'no address',
    { ...MAL, OAUTH_BASE_URL: '' },
    ['OAUTH_BASE_URL is not set: every sign-in gets a 503'],
  ],
  [
    'an address that ends in /auth',
    { ...MAL, OAUTH_BASE_URL: 'https://relay.example/auth/' },
    ['OAUTH_BASE_URL ends in /auth, so links go to /auth/auth/: is that intended?'],
  ],
  ['no client id', {}, [`${NOBODY}: set MAL_CLIENT_ID or ANILIST_CLIENT_ID`]],
  ['no provider', { PROVIDERS: ',' }, [NOBODY]],
  ['no name', { ...MAL, APP_NAME: '' }, [NO_NAME]],
  ['no name, here', { ...MAL, APP_NAME: '', OAUTH_BASE_URL: 'http://127.0.0.1:8080' }, []],
  [
    'neither secret nor PKCE by the profile',
    { ANILIST_CLIENT_ID: 'id' },
    ['ANILIST_CLIENT_SECRET is not set: AniList issues no tokens without it'],
  ],
  [
    'neither secret nor PKCE by a setting',
    { ...SPOTIFY, SPOTIFY_PKCE: 'none' },
    [`SPOTIFY_CLIENT_SECRET is not set, and spotify ${NO_PKCE}`],
  ],
  ['no secret, but PKCE', { ...SPOTIFY, SPOTIFY_PKCE: 'S256' }, []],
  ['no PKCE, but a secret', { ...SPOTIFY, SPOTIFY_PKCE: 'none', SPOTIFY_CLIENT_SECRET: 's' }, []],
  [
    'PKCE where a secret is needed too',
    GOOGLE,
    ['GOOGLE_CLIENT_SECRET is not set: Google issues no tokens without it'],
  ],
  ['PKCE and a secret', { ...GOOGLE, GOOGLE_CLIENT_SECRET_FILE: '/run/secrets/google' }, []],
  [
    'facts that may be wrong',
    STRAVA,
    [
      'STRAVA_CLIENT_ID enables Strava, about which some facts are unverified: run sign-in-relay providers strava',
    ],
  ],
  [
    'a provider that wants to know who asks',
    BANGUMI,
    [
      'BANGUMI_USER_AGENT is not set: Bangumi wants it to name you and your app, for example `sai/my-private-project`',
    ],
  ],
  ['a provider that knows who asks', { ...BANGUMI, BANGUMI_USER_AGENT: 'acme/tv' }, []],
  ['trust in all of IPv4', { ...MAL, TRUSTED_PROXY_CIDRS: '0.0.0.0/0' }, [FORGEABLE]],
  ['trust in all of IPv6', { ...MAL, TRUSTED_PROXY_CIDRS: '10.0.0.0/8,::/0' }, [FORGEABLE]],
  [
    'listed providers without a client id',
    { PROVIDERS: 'mal,spotify,acme', ...MAL, ACME_TOKEN_URL: 'https://acme.example/t' },
    [
      'SPOTIFY_CLIENT_ID is not set: spotify stays disabled',
      'ACME_CLIENT_ID is not set, although ACME_TOKEN_URL is set: acme stays disabled',
    ],
  ],
  [
    'a client id of a provider that is not listed',
    { ...MAL, SPOTIFY_CLIENT_ID: 'id' },
    ['SPOTIFY_CLIENT_ID has no effect: PROVIDERS does not list spotify'],
  ],
  ...['0.0.0.0', '::', '10.0.0.5', 'relay-1.internal'].flatMap(
    (ADMIN_HOST): [string, Record<string, string>, string[]][] => [
      [`an admin port at ${ADMIN_HOST}`, { ...ADMIN, ADMIN_HOST }, [OPEN_ADMIN]],
      [
        `an admin port with a token at ${ADMIN_HOST}`,
        { ...ADMIN, ADMIN_HOST, ADMIN_TOKEN: '0f1e2d3c4b5a6978' },
        [],
      ],
    ],
  ),
  ...['127.0.0.1', '127.1.2.3', '::1', 'localhost'].map(
    (ADMIN_HOST): [string, Record<string, string>, string[]] => [
      `an admin port at ${ADMIN_HOST}`,
      { ...ADMIN, ADMIN_HOST },
      [],
    ],
  ),
])('%s', (_, env, warnings) => {
  expect(warningsOf(env, { '/run/secrets/google': 's' })).toEqual(warnings);
});

describe('a placeholder instead of what the provider issued', () => {
  const spotify = { PROVIDERS: 'spotify', SPOTIFY_CLIENT_SECRET: 'f00ba4' };
  const problem = 'is a placeholder: write what Spotify shows at your registration';

  test.each(
    '… ... <client-id> {{client_id}} your-client-id YOUR_CLIENT_ID client_id CHANGEME change-me xxx xxxxxxxx replace-me 1a2b3c TODO'.split(
      ' ',
    ),
  )('%s', (SPOTIFY_CLIENT_ID) => {
    expect(warningsOf({ ...spotify, SPOTIFY_CLIENT_ID })).toEqual([`SPOTIFY_CLIENT_ID ${problem}`]);
  });

  test('a secret, which is not shown', () => {
    const env = { SPOTIFY_CLIENT_ID: '8f3c', SPOTIFY_CLIENT_SECRET: '<your-secret-of-spotify>' };
    expect(warningsOf({ ...spotify, ...env })).toEqual([`SPOTIFY_CLIENT_SECRET ${problem}`]);
  });

  test.each([
    '0b5cf2a3c1',
    'mal-client',
    'my-tv-app',
    'youradio',
    '123-abc.apps.example',
    'clientele',
    'Iv1.8a61f9b3a7aba766',
    '12345',
    'a',
  ])('%s may be real', (SPOTIFY_CLIENT_ID) => {
    expect(warningsOf({ ...spotify, SPOTIFY_CLIENT_ID })).toEqual([]);
  });
});

describe('scopes that are not separated as the provider wants', () => {
  test.each([
    ['spotify', 'user-read-email,playlist-read', 'has , between scopes: Spotify takes spaces'],
    ['strava', 'read activity:read', 'has spaces between scopes: Strava takes commas'],
    ['spotify', 'user-read-email playlist-read', undefined],
    ['strava', 'read,activity:read', undefined],
  ])('%s: %s', (name, scope, problem) => {
    const prefix = name.toUpperCase();
    const own = { [`${prefix}_CLIENT_ID`]: 'id', [`${prefix}_CLIENT_SECRET`]: 's' };
    const warnings = warningsOf({ PROVIDERS: name, ...own, [`${prefix}_SCOPE`]: scope });
    expect(warnings.filter((each) => each.includes('_SCOPE'))).toEqual(
      problem === undefined ? [] : [`${prefix}_SCOPE ${problem}`],
    );
  });

  test('of a provider given by its issuer or its endpoints', () => {
    const acme = { PROVIDERS: 'acme', ACME_CLIENT_ID: 'id', ACME_SCOPE: 'openid,email' };
    expect(warningsOf({ ...acme, ACME_ISSUER: 'https://acme.example' })).toEqual([
      'ACME_SCOPE has , between scopes: acme takes spaces',
    ]);
    const url = 'https://acme.example/x';
    const own = { ACME_AUTHORIZE_URL: url, ACME_TOKEN_URL: url, ACME_PKCE: 'S256' };
    expect(warningsOf({ ...acme, ...own })).toEqual([
      'ACME_SCOPE has , between scopes: check that acme wants that, since most take spaces',
    ]);
    expect(warningsOf({ ...acme, ...own, ACME_SCOPE: 'openid email' })).toEqual([]);
  });
});

test.each([
  'https://acme.example/.well-known/openid-configuration',
  'https://acme.example/.well-known/oauth-authorization-server/tenant',
])('an issuer with the path of its metadata: %s', (ACME_ISSUER) => {
  const acme = { PROVIDERS: 'acme', ACME_CLIENT_ID: 'id', ACME_ISSUER };
  expect(warningsOf(acme)).toEqual([
    'ACME_ISSUER contains /.well-known/, which the relay adds: write only what precedes it',
  ]);
});

describe('what was meant for a shell, or was added to a secret', () => {
  test.each([
    ['MAL_CLIENT_SECRET', '$\x7bSECRET}'],
    ['APP_NAME', 'Acme $\x7bNAME}'],
  ])('%s with a variable in braces', (setting, value) => {
    expect(warningsOf({ MAL_CLIENT_ID: 'm', [setting]: value })).toEqual([
      `${setting} contains a variable in braces, which the relay does not replace`,
    ]);
  });

  test.each([
    ['hunter2 ', 'hunter2 '],
    [undefined, ' hunter2\n'],
  ])('a secret with a blank around it: %j, in a file %j', (MAL_CLIENT_SECRET, content) => {
    const secret = MAL_CLIENT_SECRET ? { MAL_CLIENT_SECRET } : { MAL_CLIENT_SECRET_FILE: '/s' };
    expect(warningsOf({ MAL_CLIENT_ID: 'm', ...secret }, { '/s': content })).toEqual([
      'MAL_CLIENT_SECRET begins or ends with a blank, which is part of the secret',
    ]);
  });
});

describe('misspelt names', () => {
  const providers = {
    PROVIDERS: 'mal,spotify,acme',
    MAL_CLIENT_ID: 'm',
    SPOTIFY_CLIENT_ID: 's',
    SPOTIFY_PKCE: 'S256',
  };
  const acme = { ACME_CLIENT_ID: 'a', ACME_ISSUER: 'https://acme.example' };

  test.each([
    ['OAUTH_BASE_URI', 'is not a setting: did you mean OAUTH_BASE_URL?'],
    ['LOGLEVEL', 'is not a setting: did you mean LOG_LEVEL?'],
    ['oauth_base_url', 'is not a setting: did you mean OAUTH_BASE_URL?'],
    ['MAL_CLIENTID', 'is not a setting: did you mean MAL_CLIENT_ID?'],
    ['SPOTIFY_CLIENT_ID_FILE', 'is not read: only secrets may come from a file'],
    ['OAUTH_BASE_URL_FILE', 'is not read: only secrets may come from a file'],
  ])('%s is noticed', (name, problem) => {
    expect(warningsOf({ ...providers, ...acme, [name]: 'x' })).toEqual([`${name} ${problem}`]);
  });

  test('a name of --env-file that no setting has is noticed, unless the runtime reads it', () => {
    const env = { ...providers, ...acme, DEEZER_SECRET: 'x', HTTPS_PROXY: 'x', TZ: 'UTC' };
    const { warnings } = readSettings(env, () => '', new Set(Object.keys(env)));
    expect(warnings.map(({ setting, problem }) => `${setting} ${problem}`)).toContain(
      'DEEZER_SECRET is not a setting',
    );
    expect(warningsOf(env).join()).not.toContain('DEEZER');
    expect(warnings.filter(({ setting }) => /PROXY|TZ/.test(setting))).toEqual([]);
  });

  test('the environment of a shell, a container, a cluster and CI raises no warning', () => {
    const names = `HOME HOSTNAME HOSTS PATH PWD POST SPORT USER SHELL TERM LANG LC_ALL TZ TMPDIR
      LOGNAME MAIL OLDPWD SHLVL DISPLAY EDITOR VISUAL PAGER SSH_AUTH_SOCK XDG_SESSION_ID INVOCATION_ID
      NODE_ENV NODE_OPTIONS BUN_INSTALL HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy no_proxy CI
      RELAY_HOST COMPOSE_PROFILES PORTS PORT_HTTP BASE_URL DATABASE_URL REDIS_URL MAX_CONNECTIONS SESSION_SECRET SESSION_ID
      KUBERNETES_SERVICE_HOST KUBERNETES_PORT MAL_SERVICE_HOST MAL_SERVICE_PORT_HTTP MAL_PORT
      MAL_PORT_8080_TCP_ADDR GITHUB_TOKEN GITHUB_ACTIONS GITHUB_ACTION GITHUB_ACTOR GITHUB_API_URL
      GITHUB_BASE_REF GITHUB_ENV GITHUB_EVENT_NAME GITHUB_EVENT_PATH GITHUB_GRAPHQL_URL
      GITHUB_HEAD_REF GITHUB_JOB GITHUB_OUTPUT GITHUB_PATH GITHUB_REF GITHUB_REF_NAME GITHUB_REF_TYPE
      GITHUB_REPOSITORY GITHUB_RUN_ID GITHUB_RUN_NUMBER GITHUB_SERVER_URL GITHUB_SHA GITHUB_STATE
      GITHUB_STEP_SUMMARY GITHUB_WORKFLOW GITHUB_WORKSPACE GITLAB_CI GITLAB_USER_LOGIN
      GOOGLE_APPLICATION_CREDENTIALS GOOGLE_CLOUD_PROJECT AZURE_CLIENT_ID`.split(/\s+/);
    const env = Object.fromEntries(names.map((name) => [name, 'x']));
    const listed = {
      PROVIDERS: 'mal,github,gitlab,google',
      MAL_CLIENT_ID: 'i',
      ...Object.fromEntries(
        ['GITHUB', 'GITLAB', 'GOOGLE'].flatMap((name) => [
          [`${name}_CLIENT_ID`, 'i'],
          [`${name}_CLIENT_SECRET`, 's'],
        ]),
      ),
    };
    expect(warningsOf({ ...env, ...listed })).toEqual([]);
  });
});
