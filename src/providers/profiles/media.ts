/** Music, video and those who make them. */
import { libraries, type Profile, readOn } from './profile.ts';

const { fact, unverified } = readOn('2026-11-21');

const SPOTIFY_REFRESH =
  'https://developer.spotify.com/documentation/web-api/tutorials/refreshing-tokens';
const SPOTIFY_REDIRECT =
  'https://developer.spotify.com/documentation/web-api/concepts/redirect_uri';
const SPOTIFY_MIGRATION =
  'https://developer.spotify.com/blog/2025-02-12-increasing-the-security-requirements-for-integrating-with-spotify';

const spotify: Profile = {
  displayName: 'Spotify',
  authorizeUrl: fact(
    'https://accounts.spotify.com/authorize',
    libraries.golang,
    libraries.authJs('spotify'),
  ),
  tokenUrl: fact('https://accounts.spotify.com/api/token', SPOTIFY_REFRESH, libraries.golang),
  pkce: fact('S256', SPOTIFY_MIGRATION),
  clientAuth: fact('basic', SPOTIFY_REFRESH, libraries.socialCore('spotify')),
  clientSecret: fact('optional', SPOTIFY_REFRESH),
  scope: fact('user-read-email', libraries.authJs('spotify')),
  refreshToken: fact('always', SPOTIFY_REFRESH),
  rotates: fact(
    'sometimes',
    SPOTIFY_REFRESH,
    'https://docs.rs/rspotifys/latest/rspotifys/struct.AuthCodePkceSpotify.html',
  ),
  lifetime: fact('access token 1 hour, refresh token 6 months from the sign-in', SPOTIFY_REFRESH),
  deviceFlow: fact('none', SPOTIFY_REDIRECT),
  responses: [],
  registration: fact('https://developer.spotify.com/dashboard', SPOTIFY_REDIRECT),
  register: [
    'Choose Create app, and Web API.',
    'Redirect URIs: the redirect URI below.',
    'User Management: add each user, up to five, while the app is in development mode.',
  ],
  traps: [
    fact(
      'It refuses `localhost`. For a relay on your own machine write `http://127.0.0.1:8080` in `OAUTH_BASE_URL`. Everything else must be https.',
      SPOTIFY_REDIRECT,
    ),
    fact(
      'In development mode the owner needs Premium, and only five users can sign in.',
      'https://www.techzine.eu/news/devops/138608/spotify-puts-the-brakes-on-developer-mode-with-stricter-api-rules',
    ),
    fact(
      'Refreshing does not prolong the six months: after them the user signs in again.',
      SPOTIFY_REFRESH,
    ),
    fact(
      'Without a secret (PKCE alone) a refresh token works once, and each refresh gives the next.',
      'https://docs.rs/rspotifys/latest/rspotifys/struct.AuthCodePkceSpotify.html',
    ),
  ],
};

const GOOGLE = 'https://developers.google.com/identity/protocols/oauth2/web-server';
const GOOGLE_OFFLINE = 'https://hackmd.io/@pclin/BJlq95xgF';
const GOOGLE_FIRST =
  'https://stackoverflow.com/questions/10827920/not-receiving-google-oauth-refresh-token';
const GOOGLE_DEVICE =
  'https://developers.google.com/identity/protocols/oauth2/limited-input-device';
const YOUTUBE_DEVICE = 'https://developers.google.com/youtube/v3/guides/auth/devices';
const GOOGLE_TESTING = 'https://www.unipile.com/google-oauth-refresh-token/';

const google: Profile = {
  displayName: 'Google',
  authorizeUrl: fact('https://accounts.google.com/o/oauth2/v2/auth', GOOGLE, libraries.nango),
  tokenUrl: fact('https://oauth2.googleapis.com/token', GOOGLE, libraries.golang),
  pkce: fact('S256', libraries.authJsChecks, libraries.authJs('google')),
  clientAuth: fact('post', GOOGLE),
  clientSecret: fact('required', GOOGLE),
  scope: fact('openid email profile', libraries.socialCore('google')),
  authorizeParams: fact(
    { access_type: 'offline', prompt: 'consent' },
    GOOGLE_OFFLINE,
    GOOGLE_FIRST,
    libraries.nango,
  ),
  refreshToken: fact('with the parameters above', GOOGLE_OFFLINE, GOOGLE_FIRST),
  rotates: fact('no', GOOGLE_OFFLINE),
  lifetime: fact(
    'access token 1 hour, refresh token until it is unused for 6 months',
    GOOGLE_TESTING,
  ),
  deviceFlow: fact(`RFC 8628, for a few scopes only: ${GOOGLE_DEVICE}`, GOOGLE_DEVICE),
  responses: [],
  registration: fact('https://console.cloud.google.com/auth/clients', GOOGLE),
  register: [
    'Create a project, enable the APIs that your app calls, and fill in the consent screen.',
    'Create a client of the type Web application.',
    'Authorized redirect URIs: the redirect URI below.',
  ],
  traps: [
    fact(
      'Without `prompt=consent` a refresh token comes only with the first sign-in of a user.',
      GOOGLE_FIRST,
    ),
    fact(
      'While the app is in testing, a refresh token lives 7 days, and only listed test users can sign in. Publish the app.',
      GOOGLE_TESTING,
    ),
    fact(
      'It refuses to sign in inside the web view of another app.',
      'https://developers.googleblog.com/en/upcoming-security-changes-to-googles-oauth-20-authorization-endpoint-in-embedded-webviews',
    ),
  ],
};

const youtube: Profile = {
  ...google,
  displayName: 'YouTube',
  scope: fact('https://www.googleapis.com/auth/youtube.readonly', libraries.socialite('YouTube')),
  deviceFlow: fact(`RFC 8628: ${YOUTUBE_DEVICE}`, YOUTUBE_DEVICE),
  register: [
    'Create a project at Google, and enable the YouTube Data API.',
    ...google.register.slice(1),
  ],
  traps: [
    ...google.traps,
    fact(
      'Its scopes may be sensitive: an app that Google has not verified shows a warning, and may have a limited number of users.',
      'https://support.google.com/cloud/answer/7454865',
    ),
  ],
};

const TWITCH = 'https://dev.twitch.tv/docs/authentication/getting-tokens-oauth';
const TWITCH_REFRESH = 'https://dev.twitch.tv/docs/authentication/refresh-tokens';
const TWITCH_CONSOLE = 'https://botize.com/en/api-credentials/twitch';

const twitch: Profile = {
  displayName: 'Twitch',
  authorizeUrl: fact('https://id.twitch.tv/oauth2/authorize', TWITCH),
  tokenUrl: fact('https://id.twitch.tv/oauth2/token', TWITCH),
  pkce: fact('none', 'https://github.com/twitchdev/issues/issues/1097'),
  clientAuth: fact('post', TWITCH_REFRESH),
  clientSecret: fact('required', TWITCH_REFRESH),
  scope: fact('user:read:email', libraries.socialite('Twitch'), libraries.socialCore('twitch')),
  refreshToken: fact('always', TWITCH_REFRESH),
  rotates: unverified(
    'sometimes',
    'the part of its documentation that says so was not read',
    TWITCH_REFRESH,
  ),
  lifetime: fact('differs: believe `expires_in`', TWITCH_REFRESH),
  deviceFlow: fact(`RFC 8628 for public clients: ${TWITCH}#device-code-grant-flow`, TWITCH),
  responses: [
    fact('`scope` is an array', libraries.authJs('twitch')),
    fact('an error is `status` and `message`, without `error`', libraries.authJs('twitch')),
  ],
  registration: fact('https://dev.twitch.tv/console/apps', TWITCH_CONSOLE),
  register: [
    'Switch on two-factor authentication for your account, then choose Register Your Application.',
    'OAuth Redirect URLs: the redirect URI below.',
    'Client Type: Confidential. Then choose New Secret.',
  ],
  traps: [
    fact('An app has to ask Twitch each hour whether its access token is still valid.', TWITCH),
    fact(
      'The app calls the API with its client id in `Client-Id`, beside the token.',
      'https://community.latenode.com/t/getting-401-unauthorized-error-when-using-twitch-api-access-token/32107',
    ),
  ],
};

const VIMEO = 'https://developer.vimeo.com/api/authentication';

const vimeo: Profile = {
  displayName: 'Vimeo',
  authorizeUrl: fact('https://api.vimeo.com/oauth/authorize', VIMEO, libraries.socialite('Vimeo')),
  tokenUrl: fact('https://api.vimeo.com/oauth/access_token', VIMEO, libraries.nango),
  pkce: fact('none', VIMEO),
  clientAuth: fact('basic', VIMEO, libraries.nango),
  clientSecret: fact('required', VIMEO),
  scope: fact('public', libraries.socialite('Vimeo')),
  refreshToken: fact('never', VIMEO),
  rotates: fact('no refresh tokens', VIMEO),
  lifetime: unverified(
    'until the user revokes it',
    'its documentation says until it expires or is revoked, and names no time',
    VIMEO,
  ),
  deviceFlow: unverified('none', 'no source was found for the one that it had', VIMEO),
  responses: [fact('`user` holds the whole account; the relay drops it', VIMEO)],
  registration: fact('https://developer.vimeo.com/apps', VIMEO),
  register: ['Choose Create an app.', 'Your callback URLs: the redirect URI below.'],
  traps: [
    fact('The granted scopes may be fewer than those asked for.', VIMEO),
    fact('`VIMEO_SCOPE` takes spaces between scopes.', libraries.nango),
  ],
};

const SOUNDCLOUD = 'https://developers.soundcloud.com/docs/api/guide';
const SOUNDCLOUD_ISSUE = 'https://github.com/soundcloud/api/issues/328';

const soundcloud: Profile = {
  displayName: 'SoundCloud',
  authorizeUrl: fact(
    'https://secure.soundcloud.com/authorize',
    SOUNDCLOUD,
    libraries.socialite('SoundCloud'),
  ),
  tokenUrl: fact(
    'https://secure.soundcloud.com/oauth/token',
    SOUNDCLOUD,
    libraries.socialite('SoundCloud'),
  ),
  pkce: fact('S256', SOUNDCLOUD, 'https://developers.soundcloud.com/blog/oauth-migration'),
  clientAuth: fact('post', SOUNDCLOUD_ISSUE),
  clientSecret: fact('required', SOUNDCLOUD_ISSUE),
  scope: unverified(
    '',
    'its guide names no scope, while a library still sends non-expiring, which tokens no longer are',
    SOUNDCLOUD,
    libraries.socialite('SoundCloud'),
  ),
  refreshToken: fact('always', SOUNDCLOUD),
  rotates: fact('yes', SOUNDCLOUD),
  lifetime: fact('access token 1 hour', SOUNDCLOUD),
  deviceFlow: unverified(
    'Its own tool pairs with a code at https://secure.soundcloud.com/activate',
    'the flow is in its tool and not in its guide',
    'https://raw.githubusercontent.com/soundcloud/api/master/scripts/sc-api-auth.mjs',
  ),
  responses: [],
  registration: fact(
    'https://soundcloud.com/you/apps',
    'https://github.com/soundcloud/api/issues/84',
  ),
  register: [
    'Register an app. SoundCloud may want to be asked first.',
    'Redirect URI: the redirect URI below.',
  ],
  traps: [
    fact(
      'PKCE is required since October 2024. The addresses at api.soundcloud.com no longer work.',
      SOUNDCLOUD_ISSUE,
    ),
    fact('A refresh token works once. Store the new one before you refresh again.', SOUNDCLOUD),
    fact('The app sends its token as `Authorization: OAuth …`, not as `Bearer`.', SOUNDCLOUD),
  ],
};

const PATREON = 'https://docs.patreon.com/#oauth';

const patreon: Profile = {
  displayName: 'Patreon',
  authorizeUrl: fact('https://www.patreon.com/oauth2/authorize', PATREON, libraries.golang),
  tokenUrl: fact('https://www.patreon.com/api/oauth2/token', PATREON, libraries.golang),
  pkce: unverified(
    'none',
    'its documentation does not mention PKCE, while Auth.js sends it',
    PATREON,
    libraries.authJsChecks,
  ),
  clientAuth: fact('post', PATREON),
  clientSecret: fact('required', PATREON),
  scope: fact('identity', libraries.authJs('patreon'), libraries.socialite('Patreon')),
  refreshToken: fact('always', 'https://arcticjs.dev/providers/patreon'),
  rotates: fact('yes', 'https://arcticjs.dev/providers/patreon'),
  lifetime: unverified(
    'access token about 1 month: believe `expires_in`',
    'users report a month, the documentation names no time',
    'https://www.patreondevelopers.com/t/creators-access-token/9306',
  ),
  deviceFlow: fact('none', PATREON),
  userAgent: fact('your app', 'https://github.com/simov/grant/issues/151'),
  responses: [],
  registration: unverified(
    'https://www.patreon.com/portal/registration/register-clients',
    'what was read says only that it is in the portal for developers',
    'https://patreon-api.pages.dev/guide/features/oauth',
  ),
  register: ['Choose Create Client, API version 2.', 'Redirect URIs: the redirect URI below.'],
  traps: [
    fact(
      'Without a `User-Agent` of its own a request may get a page that asks whether it is a robot.',
      'https://github.com/simov/grant/issues/151',
    ),
    fact(
      'Only a creator’s account can register a client.',
      'https://www.github.com/Patreon/patreon-java',
    ),
  ],
};

export const MEDIA = { spotify, google, youtube, twitch, vimeo, soundcloud, patreon } as const;
