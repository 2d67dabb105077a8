/** Accounts that people have anyway: social networks and where code is kept. */
import { libraries, type Profile, readOn } from './profile.ts';

const { fact, unverified } = readOn('2026-11-21');

const DISCORD = 'https://github.com/discord/discord-api-docs/blob/main/docs/topics/OAuth2.md';
const DISCORD_PKCE = 'https://github.com/discord/discord-api-docs/pull/7046';

const discord: Profile = {
  displayName: 'Discord',
  authorizeUrl: fact(
    'https://discord.com/api/oauth2/authorize',
    DISCORD,
    libraries.authJs('discord'),
  ),
  tokenUrl: fact('https://discord.com/api/oauth2/token', DISCORD),
  pkce: unverified(
    'S256',
    'it accepts PKCE, but does not document it for the authorization code grant',
    DISCORD_PKCE,
    'https://github.com/discord/discord-api-docs/issues/5254',
  ),
  clientAuth: fact('post', DISCORD),
  clientSecret: fact('required', DISCORD),
  scope: fact('identify', DISCORD, libraries.socialCore('discord')),
  refreshToken: fact('always', DISCORD),
  rotates: fact('yes', 'https://github.com/discord/discord-api-docs/issues/5942'),
  lifetime: fact('access token 7 days', DISCORD),
  deviceFlow: fact(
    'RFC 8628, for approved games on consoles: https://discord.com/developers/docs/discord-social-sdk/development-guides/account-linking-on-consoles',
    'https://discord.mintlify.app/developers/docs/discord-social-sdk/development-guides/account-linking-on-consoles',
  ),
  responses: [],
  registration: fact('https://discord.com/developers/applications', DISCORD),
  register: [
    'Choose New Application, then OAuth2.',
    'Redirects: the redirect URI below.',
    'Choose Reset Secret.',
  ],
  traps: [
    fact('The token address takes a form only, never JSON.', DISCORD),
    fact(
      'Some scopes need Discord’s approval. Asking for one without it ends in an error.',
      DISCORD,
    ),
  ],
};

const REDDIT = 'https://github.com/reddit-archive/reddit/wiki/OAuth2';
const REDDIT_POLICY = 'https://support.reddithelp.com/hc/articles/42728983564564';

const reddit: Profile = {
  displayName: 'Reddit',
  authorizeUrl: fact('https://www.reddit.com/api/v1/authorize', REDDIT, libraries.authJs('reddit')),
  tokenUrl: fact('https://www.reddit.com/api/v1/access_token', REDDIT, libraries.authJs('reddit')),
  pkce: fact('none', REDDIT, libraries.authJs('reddit')),
  clientAuth: fact('basic', REDDIT, libraries.socialite('Reddit')),
  clientSecret: fact('required', REDDIT),
  scope: fact('identity', libraries.socialite('Reddit'), libraries.socialCore('reddit')),
  authorizeParams: fact({ duration: 'permanent' }, REDDIT, libraries.nango),
  refreshToken: fact('with the parameters above', REDDIT),
  rotates: unverified(
    'no',
    'its documentation shows no new one, while a client was prepared for single use in 2021',
    REDDIT,
    'https://github.com/praw-dev/asyncpraw/pull/82',
  ),
  lifetime: unverified(
    'access token 1 to 24 hours: believe `expires_in`',
    'its documentation says 1 hour, users report 24',
    REDDIT,
    'https://github.com/automatisch/automatisch/issues/2126',
  ),
  deviceFlow: fact('none', REDDIT),
  userAgent: fact(
    'your platform, app, version and account, as in `web:tv.example:1.0 (by /u/you)`',
    libraries.socialite('Reddit'),
  ),
  responses: [fact('a refusal may be `200` with an `error`', REDDIT)],
  registration: fact('https://www.reddit.com/prefs/apps', REDDIT),
  register: [
    'Ask for access to the API first: Reddit approves each app.',
    'Choose create app, and web app: the others have no secret or reach only your own account.',
    'redirect uri: the redirect URI below.',
  ],
  traps: [
    fact('Since November 2025 an app needs Reddit’s approval.', REDDIT_POLICY),
    fact('Without `duration=permanent` it gives no refresh token.', REDDIT),
    fact('`REDDIT_SCOPE` takes commas between scopes: `identity,read`.', REDDIT),
  ],
};

const GITHUB =
  'https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps';
const GITHUB_PKCE =
  'https://github.blog/changelog/2025-07-14-pkce-support-for-oauth-and-github-app-authentication';
const GITHUB_EXPIRY =
  'https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/refreshing-user-access-tokens';
const GITHUB_STRING =
  'https://developer.github.com/changes/2020-04-30-expiring-user-to-server-access-tokens-for-github-apps';

const github: Profile = {
  displayName: 'GitHub',
  authorizeUrl: fact('https://github.com/login/oauth/authorize', GITHUB),
  tokenUrl: fact('https://github.com/login/oauth/access_token', GITHUB),
  pkce: fact('S256', GITHUB_PKCE),
  clientAuth: fact('post', GITHUB),
  clientSecret: fact('required', GITHUB),
  scope: fact('read:user', libraries.authJs('github')),
  refreshToken: fact('always', GITHUB_EXPIRY),
  rotates: fact('yes', GITHUB_EXPIRY),
  lifetime: fact('access token 8 hours, refresh token 6 months', GITHUB_EXPIRY),
  deviceFlow: fact(`RFC 8628: ${GITHUB}#device-flow`, GITHUB),
  responses: [
    fact('a refusal is `200` with an `error`, such as `bad_verification_code`', GITHUB),
    fact('`expires_in` is a string in some', GITHUB_STRING),
  ],
  registration: fact('https://github.com/settings/apps/new', GITHUB_EXPIRY),
  register: [
    'Register a GitHub App, not an OAuth app: only its tokens can be refreshed.',
    'Callback URL: the redirect URI below.',
    'Keep Expire user authorization tokens switched on, and choose Generate a new client secret.',
  ],
  traps: [
    fact('The tokens of an OAuth app do not expire, and come without a refresh token.', GITHUB),
    fact(
      'A GitHub App has permissions in place of scopes; it ignores `GITHUB_SCOPE`.',
      GITHUB_STRING,
    ),
    fact('The device flow has to be switched on in the settings of the app.', GITHUB),
  ],
};

const GITLAB = 'https://docs.gitlab.com/api/oauth2/';

const gitlab: Profile = {
  displayName: 'GitLab',
  authorizeUrl: fact('https://gitlab.com/oauth/authorize', GITLAB, libraries.golang),
  tokenUrl: fact('https://gitlab.com/oauth/token', GITLAB, libraries.golang),
  pkce: fact('S256', GITLAB),
  clientAuth: fact('post', GITLAB),
  clientSecret: fact('optional', GITLAB),
  scope: fact('read_user', libraries.authJs('gitlab'), libraries.socialCore('gitlab')),
  refreshToken: fact('always', GITLAB),
  rotates: fact('yes', GITLAB),
  lifetime: fact('access token 2 hours', GITLAB),
  deviceFlow: fact(`RFC 8628: ${GITLAB}#device-authorization-grant-flow`, GITLAB),
  refreshesWithRedirectUri: fact(true, GITLAB),
  responses: [],
  registration: fact('https://gitlab.com/-/user_settings/applications', GITLAB),
  register: [
    'Choose Add new application.',
    'Redirect URI: the redirect URI below.',
    'Confidential: yes, if you set the secret. Scopes: all that the app asks for.',
  ],
  traps: [
    fact('An application may ask only for the scopes that are ticked in it.', GITLAB),
    fact(
      'For a GitLab of your own set `GITLAB_AUTHORIZE_URL` and `GITLAB_TOKEN_URL`, or `GITLAB_ISSUER`.',
      GITLAB,
    ),
  ],
};

const MICROSOFT =
  'https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-auth-code-flow';
const MICROSOFT_REFRESH =
  'https://learn.microsoft.com/en-us/entra/identity-platform/refresh-tokens';
const MICROSOFT_DEVICE =
  'https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-device-code';

const microsoft: Profile = {
  displayName: 'Microsoft',
  authorizeUrl: fact(
    'https://login.microsoftonline.com/common/oauth2/v2.0/authorize',
    MICROSOFT,
    libraries.golang,
  ),
  tokenUrl: fact(
    'https://login.microsoftonline.com/common/oauth2/v2.0/token',
    MICROSOFT,
    libraries.golang,
  ),
  pkce: fact('S256', MICROSOFT),
  clientAuth: fact('post', MICROSOFT),
  clientSecret: fact('required', MICROSOFT),
  scope: fact(
    'openid profile offline_access User.Read',
    MICROSOFT,
    libraries.authJs('microsoft-entra-id'),
  ),
  refreshToken: fact('with the scope above', MICROSOFT),
  rotates: fact('yes', MICROSOFT_REFRESH),
  lifetime: fact('access token about 1 hour, refresh token 90 days', MICROSOFT_REFRESH),
  deviceFlow: fact(`RFC 8628: ${MICROSOFT_DEVICE}`, libraries.golang),
  responses: [],
  registration: fact('https://go.microsoft.com/fwlink/?linkid=2083908', MICROSOFT),
  register: [
    'Choose New registration, and who may sign in.',
    'Redirect URI: the platform Web, and the redirect URI below.',
    'Certificates & secrets: New client secret. Its value is the secret, not its id.',
  ],
  traps: [
    fact('Without `offline_access` in the scope it gives no refresh token.', MICROSOFT),
    fact('`scope` is required: without it the request is refused.', MICROSOFT),
    fact(
      'A redirect URI of the platform SPA is refused from a server, and its refresh tokens live 24 hours.',
      MICROSOFT,
      MICROSOFT_REFRESH,
    ),
    fact(
      '`common` admits every account. For one organization set both addresses with your tenant in place of `common`.',
      MICROSOFT,
    ),
  ],
};

const FACEBOOK = 'https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow';
const FACEBOOK_OIDC =
  'https://developers.facebook.com/documentation/facebook-login/guides/advanced/oidc-token';
const FACEBOOK_DEVICE = 'https://developers.facebook.com/docs/facebook-login/for-devices';

const facebook: Profile = {
  displayName: 'Facebook',
  authorizeUrl: fact('https://www.facebook.com/v22.0/dialog/oauth', FACEBOOK, libraries.golang),
  tokenUrl: fact('https://graph.facebook.com/v22.0/oauth/access_token', FACEBOOK, libraries.golang),
  pkce: unverified(
    'none',
    'it documents PKCE for its OpenID flow alone, and as being tested',
    FACEBOOK_OIDC,
  ),
  clientAuth: fact('post', FACEBOOK, libraries.golang),
  clientSecret: fact('required', FACEBOOK),
  scope: unverified(
    'public_profile',
    'no source was read for it; Auth.js asks for email',
    libraries.authJs('facebook'),
  ),
  refreshToken: fact('never', FACEBOOK),
  rotates: fact('no refresh tokens', FACEBOOK),
  lifetime: unverified(
    'access token about 60 days: believe `expires_in`',
    'no source for the lifetime of a token from a server was found',
    FACEBOOK,
  ),
  deviceFlow: fact(`A flow of its own: ${FACEBOOK_DEVICE}`, FACEBOOK_DEVICE),
  responses: [fact('an error is an object: `{"error":{"message":…,"type":…}}`', FACEBOOK)],
  registration: fact('https://developers.facebook.com/apps/', FACEBOOK),
  register: [
    'Create an app, and add Facebook Login.',
    'Facebook Login, Settings, Valid OAuth Redirect URIs: the redirect URI below.',
    'App settings, Basic: copy App ID and App secret.',
  ],
  traps: [
    unverified(
      'Until the app is published, probably only people with a role in it can sign in.',
      'no source was read for it',
    ),
    fact(
      'Its addresses carry a version, which works for at least two years: then set `FACEBOOK_AUTHORIZE_URL` and `FACEBOOK_TOKEN_URL` to a newer one.',
      'https://developers.facebook.com/docs/apps/versions',
    ),
    fact(
      'After the token has expired the user signs in again: there is nothing to refresh.',
      FACEBOOK,
    ),
  ],
};

const X = 'https://docs.x.com/resources/fundamentals/authentication/oauth-2-0/authorization-code';
const X_TOKEN =
  'https://docs.x.com/resources/fundamentals/authentication/oauth-2-0/user-access-token';

const x: Profile = {
  displayName: 'X',
  authorizeUrl: fact('https://x.com/i/oauth2/authorize', X_TOKEN, libraries.golang),
  tokenUrl: fact('https://api.x.com/2/oauth2/token', X, libraries.golang),
  pkce: fact('S256', X_TOKEN),
  clientAuth: fact('basic', X_TOKEN),
  clientSecret: fact('optional', X_TOKEN),
  scope: fact('tweet.read users.read offline.access', libraries.authJs('twitter')),
  refreshToken: fact('with the scope above', X),
  rotates: unverified('yes', 'its documentation does not say; clients store the new one', X),
  lifetime: fact('access token 2 hours', X),
  deviceFlow: fact('none', X),
  responses: [],
  registration: fact('https://developer.x.com/en/portal/dashboard', X_TOKEN),
  register: [
    'Create an app, then User authentication settings.',
    'Type of App: Web App, which gives a secret; Native App has none.',
    'Callback URI: the redirect URI below. Copy the OAuth 2.0 Client ID, not the API key.',
  ],
  traps: [
    fact('Without `offline.access` in the scope it gives no refresh token.', X),
    fact(
      'With a secret it takes client authentication by HTTP Basic alone.',
      X_TOKEN,
      'https://github.com/unasuke/omniauth-twitter2/issues/4',
    ),
    fact('It was called Twitter: `PROVIDERS=x`, and settings begin with `X_`.', X_TOKEN),
  ],
};

export const ACCOUNTS = { discord, reddit, github, gitlab, microsoft, facebook, x } as const;
