/** What is allowed but rarely intended, and names that are probably misspelt: warnings at a start. */
import { describe, expect, test } from 'bun:test';
import { readSettings } from '../../src/settings/index.ts';
import { ACME, type Environment, warningsOf } from './read.ts';

const MAL = { MAL_CLIENT_ID: 'id' };
const SPOTIFY = { PROVIDERS: 'spotify', SPOTIFY_CLIENT_ID: 'id' };
const GOOGLE = { PROVIDERS: 'google', GOOGLE_CLIENT_ID: 'id' };
const BANGUMI = { PROVIDERS: 'bangumi', BANGUMI_CLIENT_ID: 'id', BANGUMI_CLIENT_SECRET: 's' };
const STRAVA = { PROVIDERS: 'strava', STRAVA_CLIENT_ID: 'id', STRAVA_CLIENT_SECRET: 's' };
const ISSUER = { PROVIDERS: 'acme', ACME_CLIENT_ID: 'id', ACME_ISSUER: 'https://acme.example' };
const OWN = {
  SPOTIFY_AUTHORIZE_URL: 'https://own.example/authorize',
  SPOTIFY_TOKEN_URL: 'https://own.example/token',
};
const HERE = 'http://127.0.0.1:8080';
const ADMIN = { ...MAL, ADMIN_PORT: '9090' };
const ADMIN_TOKEN = '0f1e2d3c4b5a6978';
const OTHERS = ['0.0.0.0', '::', '10.0.0.5', 'relay-1.internal'];
const NO_PROVIDER = 'PROVIDERS lists no provider with a client id, so nobody can sign in';
const FORGEABLE = 'TRUSTED_PROXY_CIDRS trusts every address: anyone can forge a client address';

test.each<[Environment, ...warnings: string[]]>([
  [
    { ...MAL, OAUTH_BASE_URL: 'http://relay.example' },
    'OAUTH_BASE_URL is plain http: anyone on the network path can read the tokens',
  ],
  [{ ...MAL, OAUTH_BASE_URL: '' }, 'OAUTH_BASE_URL is not set: every sign-in gets a 503'],
  [
    { ...MAL, OAUTH_BASE_URL: 'https://relay.example/auth/' },
    'OAUTH_BASE_URL ends in /auth, so links go to /auth/auth/: is that intended?',
  ],
  [{}, `${NO_PROVIDER}: set MAL_CLIENT_ID or ANILIST_CLIENT_ID`],
  [{ PROVIDERS: ',' }, NO_PROVIDER],
  [
    { ...MAL, APP_NAME: '' },
    'APP_NAME is not set: the page that asks users to continue names only relay.example',
  ],
  [GOOGLE, 'GOOGLE_CLIENT_SECRET is not set: Google issues no tokens without it'],
  [
    { ...SPOTIFY, SPOTIFY_PKCE: 'none' },
    'SPOTIFY_CLIENT_SECRET is not set, and spotify uses no PKCE: it will probably issue no tokens',
  ],
  [
    BANGUMI,
    'BANGUMI_USER_AGENT is not set: Bangumi wants it to name you and your app, for example `sai/my-private-project`',
  ],
  [
    { ...SPOTIFY, OAUTH_BASE_URL: 'http://localhost:8080' },
    'OAUTH_BASE_URL has the name localhost, which Spotify refuses in a redirect URI: write 127.0.0.1 instead',
  ],
  [
    { ...MAL, OPEN_ENDPOINTS: '*' },
    'OPEN_ENDPOINTS is *: anyone can make a link on this host that redirects to any other host (docs/open.md)',
  ],
  [{ ...MAL, TRUSTED_PROXY_CIDRS: '0.0.0.0/0' }, FORGEABLE],
  [{ ...MAL, TRUSTED_PROXY_CIDRS: '10.0.0.0/8,::/0' }, FORGEABLE],
  [
    { PROVIDERS: 'mal,spotify,acme', ...MAL, ACME_TOKEN_URL: 'https://acme.example/t' },
    'SPOTIFY_CLIENT_ID is not set: spotify stays disabled',
    'ACME_CLIENT_ID is not set, although ACME_TOKEN_URL is set: acme stays disabled',
  ],
  [
    { ...MAL, SPOTIFY_CLIENT_ID: 'id' },
    'SPOTIFY_CLIENT_ID has no effect: PROVIDERS does not list spotify',
  ],
  ...OTHERS.map((ADMIN_HOST): [Environment, string] => [
    { ...ADMIN, ADMIN_HOST },
    'ADMIN_HOST lets other machines read ADMIN_PORT, since ADMIN_TOKEN is not set',
  ]),
  [
    { ...SPOTIFY, SPOTIFY_SCOPE: 'user-read-email,playlist-read' },
    'SPOTIFY_SCOPE has , between scopes: Spotify takes spaces',
  ],
  [
    { ...STRAVA, STRAVA_SCOPE: 'read activity:read' },
    'STRAVA_SCOPE has spaces between scopes: Strava takes commas',
  ],
  [{ ...ISSUER, ACME_SCOPE: 'openid,email' }, 'ACME_SCOPE has , between scopes: acme takes spaces'],
  [
    { ...ACME, ACME_PKCE: 'S256', ACME_SCOPE: 'openid,email' },
    'ACME_SCOPE has , between scopes: check that acme wants that, since most take spaces',
  ],
  [
    { ...ISSUER, ACME_ISSUER: 'https://acme.example/.well-known/oauth-authorization-server/a' },
    'ACME_ISSUER contains /.well-known/, which the relay adds: write only what precedes it',
  ],
  ...['MAL_CLIENT_SECRET', 'APP_NAME'].map((setting): [Environment, string] => [
    { ...MAL, [setting]: 'Acme $\x7bNAME}' },
    `${setting} contains a variable in braces, which the relay does not replace`,
  ]),
  ...[{ MAL_CLIENT_SECRET: 'hunter2 ' }, { MAL_CLIENT_SECRET_FILE: '/blanks' }].map(
    (secret): [Environment, string] => [
      { ...MAL, ...secret },
      'MAL_CLIENT_SECRET begins or ends with a blank, which is part of the secret',
    ],
  ),
])('%j warns: %s', (env, ...warnings) => {
  expect(warningsOf(env, { '/blanks': ' hunter2\n' })).toEqual(warnings);
});

test.each<[Environment]>([
  [MAL],
  [{ ...MAL, OAUTH_BASE_URL: 'http://localhost:8080' }],
  [{ ...MAL, OAUTH_BASE_URL: HERE, APP_NAME: '' }],
  [{ ...SPOTIFY, SPOTIFY_PKCE: 'none', SPOTIFY_CLIENT_SECRET: 's' }],
  [{ ...GOOGLE, GOOGLE_CLIENT_SECRET_FILE: '/run/secrets/google' }],
  [{ ...BANGUMI, BANGUMI_USER_AGENT: 'acme/tv' }],
  [{ ...SPOTIFY, OAUTH_BASE_URL: HERE }],
  // Another server, whose rules are unknown.
  [{ ...SPOTIFY, ...OWN, OAUTH_BASE_URL: 'http://localhost:8080' }],
  [{ ...SPOTIFY, SPOTIFY_SCOPE: 'user-read-email playlist-read' }],
  [{ ...STRAVA, STRAVA_SCOPE: 'read,activity:read' }],
  [{ ...ACME, ACME_PKCE: 'S256', ACME_SCOPE: 'openid email' }],
  ...OTHERS.map((ADMIN_HOST): [Environment] => [{ ...ADMIN, ADMIN_HOST, ADMIN_TOKEN }]),
  ...['127.0.0.1', '127.1.2.3', '::1', 'localhost'].map((ADMIN_HOST): [Environment] => [
    { ...ADMIN, ADMIN_HOST },
  ]),
])('%j is no reason to warn', (env) => {
  expect(warningsOf(env, { '/run/secrets/google': 's' })).toEqual([]);
});

describe('a placeholder instead of what the provider issued', () => {
  const problem = 'is a placeholder: write what Spotify shows at your registration';

  test.each(
    '… ... <client-id> {{client_id}} your-client-id YOUR_CLIENT_ID client_id CHANGEME change-me xxx xxxxxxxx replace-me 1a2b3c TODO'.split(
      ' ',
    ),
  )('%s', (written) => {
    const env = { ...SPOTIFY, SPOTIFY_CLIENT_ID: written, SPOTIFY_CLIENT_SECRET: written };
    const settings = ['SPOTIFY_CLIENT_ID', 'SPOTIFY_CLIENT_SECRET'];
    expect(warningsOf(env)).toEqual(settings.map((setting) => `${setting} ${problem}`));
  });

  test.each(
    '0b5cf2a3c1 mal-client my-tv-app youradio 123-abc.apps.example clientele Iv1.8a61f9b3a7aba766 12345 a'.split(
      ' ',
    ),
  )('%s may be real', (SPOTIFY_CLIENT_ID) => {
    expect(warningsOf({ ...SPOTIFY, SPOTIFY_CLIENT_ID })).toEqual([]);
  });
});

describe('misspelt names', () => {
  const providers = { ...MAL, ...SPOTIFY, ...ISSUER, PROVIDERS: 'mal,spotify,acme' };

  test.each([
    ['OAUTH_BASE_URI', 'is not a setting: did you mean OAUTH_BASE_URL?'],
    ['LOGLEVEL', 'is not a setting: did you mean LOG_LEVEL?'],
    ['oauth_base_url', 'is not a setting: did you mean OAUTH_BASE_URL?'],
    ['MAL_CLIENTID', 'is not a setting: did you mean MAL_CLIENT_ID?'],
    ['SPOTIFY_CLIENT_ID_FILE', 'is not read: only secrets may come from a file'],
    ['OAUTH_BASE_URL_FILE', 'is not read: only secrets may come from a file'],
  ])('%s is noticed', (name, problem) => {
    expect(warningsOf({ ...providers, [name]: 'x' })).toEqual([`${name} ${problem}`]);
  });

  test('a name of --env-file that no setting has is noticed, unless the runtime reads it', () => {
    const env = { ...providers, DEEZER_SECRET: 'x', HTTPS_PROXY: 'x', TZ: 'UTC' };
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
      ...MAL,
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
