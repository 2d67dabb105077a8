/**
 * The facts about each provider that can be enabled by its name; guides/ has what an operator reads
 * about it. Any other provider is set by its issuer or its endpoints (docs/configuration.md "Providers").
 */
import type { Expected, KnownError, ProviderConfig } from './config.ts';
import type { RedirectKind } from './redirect-uris.ts';

/** Placeholder for the address of a server that people host themselves. */
export const OWN_URL = '[url]';

/** What the relay uses unless the operator sets something else. URLs may contain OWN_URL. */
type Defaults = Omit<
  Partial<ProviderConfig>,
  'name' | 'clientId' | 'clientSecret' | 'callbackIssuer'
> &
  Pick<ProviderConfig, 'displayName' | 'authorizeUrl' | 'tokenUrl' | 'pkce'>;

export interface Profile extends Defaults {
  /** What replaces OWN_URL unless the operator sets another. Absent if it must be set. */
  readonly defaultUrl?: string;
  /** Default: it is required. `optional`: PKCE suffices. `none`: it issues none. */
  readonly clientSecret?: 'optional' | 'none';
  /** Default: a space (RFC 6749 §3.3). */
  readonly scopeSeparator?: ',';
  /** What the `User-Agent` of token requests should name, if it requires one. */
  readonly userAgentNames?: string;
  /** Its own device flow, which some apps can use instead of the relay. Absent if it has none, or none is known. */
  readonly deviceFlow?: string;
  /** How long its tokens last: completes "Access tokens last". */
  readonly lifetime: string;
  /** True if it gives a refresh token only because of its `authorizeParams`. */
  readonly paramsGiveRefreshToken?: true;
  /** Which sign-ins give a refresh token, if the relay sends what the profile says. Default: all. */
  readonly refreshToken?: 'sometimes' | 'never';
  /** When a refresh gives a new refresh token. Default: always. */
  readonly rotation?: 'sometimes' | 'never';
  /** Which redirect URIs it refuses. Absent if no rule is known. */
  readonly refusedRedirects?: readonly RedirectKind[];
}

/** What the provider answers a refresh token that no longer works, with 400. */
const badRefreshToken = (body: Expected): KnownError => {
  return { means: 'invalid_grant', grant: 'refresh', status: 400, body };
};

const GOOGLE: Profile = {
  displayName: 'Google',
  authorizeUrl: 'https://accounts.google.com/o/oauth2/v2/auth',
  tokenUrl: 'https://oauth2.googleapis.com/token',
  pkce: 'S256',
  scope: 'openid email profile',
  authorizeParams: { access_type: 'offline', prompt: 'consent' },
  revocation: { url: 'https://oauth2.googleapis.com/revoke', clientAuth: 'none' },
  deviceFlow:
    'RFC 8628, for a few scopes only: <https://developers.google.com/identity/protocols/oauth2/limited-input-device>.',
  lifetime: '1 hour, refresh tokens until nobody has used them for 6 months',
  paramsGiveRefreshToken: true,
  rotation: 'never',
  refusedRedirects: ['address', 'private', 'http'],
};

/** What a row may leave out. No PKCE is the default of the setting too. */
const defaultsOf = (name: string) =>
  ({
    displayName: capitalized(name),
    pkce: 'none',
    lifetime: 'as long as `expires_in` says',
  }) as const;

type Standard = ReturnType<typeof defaultsOf>;
type Row = Omit<Profile, keyof Standard> & Partial<Pick<Profile, keyof Standard>>;

const ROWS: Readonly<Record<string, Row>> = {
  anilist: {
    displayName: 'AniList',
    authorizeUrl: 'https://anilist.co/api/v2/oauth/authorize',
    tokenUrl: 'https://anilist.co/api/v2/oauth/token',
    removeAt: 'https://anilist.co/settings/apps',
    lifetime: '1 year',
    refreshToken: 'never',
  },
  annict: {
    authorizeUrl: 'https://annict.com/oauth/authorize',
    tokenUrl: 'https://api.annict.com/oauth/token',
    scope: 'read',
    revocation: { url: 'https://api.annict.com/oauth/revoke', takes: 'access tokens' },
    lifetime: 'until they are revoked',
    refreshToken: 'never',
  },
  bangumi: {
    authorizeUrl: 'https://bgm.tv/oauth/authorize',
    tokenUrl: 'https://bgm.tv/oauth/access_token',
    quirks: { refreshesWithRedirectUri: true },
    userAgentNames: 'you and your app, for example `sai/my-private-project`',
    lifetime: '7 days',
  },
  battlenet: {
    displayName: 'Battle.net',
    authorizeUrl: 'https://oauth.battle.net/authorize',
    tokenUrl: 'https://oauth.battle.net/token',
    scope: 'openid',
    lifetime: '24 hours',
    refreshToken: 'sometimes',
    rotation: 'sometimes',
  },
  box: {
    authorizeUrl: 'https://account.box.com/api/oauth2/authorize',
    tokenUrl: 'https://api.box.com/oauth2/token',
    revocation: { url: 'https://api.box.com/oauth2/revoke' },
    lifetime: '1 hour, refresh tokens 60 days or until they are used',
  },
  discord: {
    authorizeUrl: 'https://discord.com/api/oauth2/authorize',
    tokenUrl: 'https://discord.com/api/oauth2/token',
    pkce: 'S256',
    clientSecret: 'optional',
    scope: 'identify',
    revocation: { url: 'https://discord.com/api/oauth2/token/revoke' },
    deviceFlow:
      'RFC 8628, for approved games on consoles: <https://discord.com/developers/docs/discord-social-sdk/development-guides/account-linking-on-consoles>.',
    lifetime: '7 days',
  },
  dropbox: {
    authorizeUrl: 'https://www.dropbox.com/oauth2/authorize',
    tokenUrl: 'https://api.dropboxapi.com/oauth2/token',
    pkce: 'S256',
    clientSecret: 'optional',
    scope: 'account_info.read',
    authorizeParams: { token_access_type: 'offline' },
    revocation: {
      url: 'https://api.dropboxapi.com/2/auth/token/revoke',
      takes: 'access tokens',
      tokenIn: 'bearer',
    },
    lifetime: '4 hours, refresh tokens until they are revoked',
    paramsGiveRefreshToken: true,
    rotation: 'never',
    refusedRedirects: ['http'],
  },
  epicgames: {
    displayName: 'Epic Games',
    authorizeUrl: 'https://www.epicgames.com/id/authorize',
    tokenUrl: 'https://api.epicgames.dev/epic/oauth/v2/token',
    clientAuth: 'basic',
    scope: 'basic_profile',
    revocation: { url: 'https://api.epicgames.dev/epic/oauth/v2/revoke' },
    deviceFlow:
      'Clients use the endpoint `https://api.epicgames.dev/epic/oauth/v2/deviceAuthorization`, which takes a client id and is like RFC 8628.',
    lifetime: '2 hours, refresh tokens 8 hours',
  },
  facebook: {
    authorizeUrl: 'https://www.facebook.com/v26.0/dialog/oauth',
    tokenUrl: 'https://graph.facebook.com/v26.0/oauth/access_token',
    scope: 'public_profile',
    knownErrors: [
      // The code was used, has expired, or is none.
      { means: 'invalid_grant', body: { error: { error_subcode: 36_009 } } },
      { means: 'invalid_grant', body: { error: { error_subcode: 36_007 } } },
      { means: 'invalid_grant', body: { error: { message: 'Invalid verification code format.' } } },
      { means: 'redirect_uri_mismatch', body: { error: { error_subcode: 36_008 } } },
      { means: 'invalid_client', body: { error: { message: 'Error validating client secret.' } } },
      { means: 'invalid_client', body: { error: { code: 101 } } },
    ],
    deviceFlow:
      'A flow that is not RFC 8628: <https://developers.facebook.com/docs/facebook-login/for-devices>.',
    lifetime: 'about 60 days, as `expires_in` says',
    refreshToken: 'never',
  },
  figma: {
    authorizeUrl: 'https://www.figma.com/oauth',
    tokenUrl: 'https://api.figma.com/v1/oauth/token',
    refreshUrl: 'https://api.figma.com/v1/oauth/refresh',
    pkce: 'S256',
    clientAuth: 'basic',
    scope: 'current_user:read',
    lifetime: '90 days, as `expires_in` says',
    rotation: 'never',
  },
  github: {
    displayName: 'GitHub',
    authorizeUrl: 'https://github.com/login/oauth/authorize',
    tokenUrl: 'https://github.com/login/oauth/access_token',
    pkce: 'S256',
    scope: 'read:user',
    quirks: { commaInScope: true },
    revocation: {
      url: 'https://api.github.com/applications/[client id]/token',
      takes: 'access tokens',
      method: 'DELETE',
      clientAuth: 'basic',
      tokenIn: 'access_token',
      body: 'json',
    },
    deviceFlow:
      'RFC 8628: <https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps#device-flow>. You must switch it on in the settings of the app.',
    lifetime: '8 hours, refresh tokens 6 months',
  },
  gitlab: {
    displayName: 'GitLab',
    authorizeUrl: '[url]/oauth/authorize',
    tokenUrl: '[url]/oauth/token',
    defaultUrl: 'https://gitlab.com',
    pkce: 'S256',
    clientSecret: 'optional',
    scope: 'read_user',
    quirks: { refreshesWithRedirectUri: true },
    revocation: { url: '[url]/oauth/revoke' },
    deviceFlow: 'RFC 8628: <https://docs.gitlab.com/api/oauth2/#device-authorization-grant-flow>.',
    lifetime: '2 hours',
  },
  google: GOOGLE,
  homeassistant: {
    displayName: 'Home Assistant',
    authorizeUrl: '[url]/auth/authorize',
    tokenUrl: '[url]/auth/token',
    clientSecret: 'none',
    revocation: { url: '[url]/auth/revoke', clientAuth: 'none' },
    lifetime: '30 minutes',
    rotation: 'never',
  },
  hue: {
    displayName: 'Philips Hue',
    authorizeUrl: 'https://api.meethue.com/v2/oauth2/authorize',
    tokenUrl: 'https://api.meethue.com/v2/oauth2/token',
    clientAuth: 'basic',
    lifetime: '7 days, refresh tokens 112 days',
  },
  huggingface: {
    displayName: 'Hugging Face',
    authorizeUrl: 'https://huggingface.co/oauth/authorize',
    tokenUrl: 'https://huggingface.co/oauth/token',
    pkce: 'S256',
    clientAuth: 'basic',
    clientSecret: 'optional',
    scope: 'openid profile',
    deviceFlow: 'RFC 8628: <https://huggingface.co/docs/hub/oauth#device-code-oauth>.',
    lifetime: '8 hours, refresh tokens 3 months',
    refreshToken: 'sometimes',
  },
  itchio: {
    displayName: 'itch.io',
    authorizeUrl: 'https://itch.io/user/oauth',
    tokenUrl: 'https://api.itch.io/oauth/token',
    pkce: 'S256',
    clientSecret: 'none',
    scope: 'profile:me',
    rotation: 'sometimes',
  },
  kick: {
    authorizeUrl: 'https://id.kick.com/oauth/authorize',
    tokenUrl: 'https://id.kick.com/oauth/token',
    pkce: 'S256',
    scope: 'user:read',
    refusedRedirects: ['loopback'],
  },
  linear: {
    authorizeUrl: 'https://linear.app/oauth/authorize',
    tokenUrl: 'https://api.linear.app/oauth/token',
    pkce: 'S256',
    scope: 'read',
    scopeSeparator: ',',
    revocation: {
      url: 'https://api.linear.app/oauth/revoke',
      takes: 'access tokens',
      tokenIn: 'bearer',
    },
    lifetime: '24 hours',
  },
  mal: {
    displayName: 'MyAnimeList',
    authorizeUrl: 'https://myanimelist.net/v1/oauth2/authorize',
    tokenUrl: 'https://myanimelist.net/v1/oauth2/token',
    pkce: 'plain',
    clientSecret: 'optional',
    lifetime: '1 hour, refresh tokens 1 month',
  },
  mangabaka: {
    displayName: 'MangaBaka',
    authorizeUrl: 'https://mangabaka.org/auth/oauth2/authorize',
    tokenUrl: 'https://mangabaka.org/auth/oauth2/token',
    pkce: 'S256',
    clientSecret: 'optional',
    scope: 'openid profile library.read offline_access',
    revocation: { url: 'https://mangabaka.org/auth/oauth2/revoke' },
    rotation: 'sometimes',
  },
  mastodon: {
    authorizeUrl: '[url]/oauth/authorize',
    tokenUrl: '[url]/oauth/token',
    pkce: 'S256',
    scope: 'read',
    revocation: { url: '[url]/oauth/revoke', takes: 'access tokens' },
    lifetime: 'until they are revoked',
    refreshToken: 'never',
  },
  microsoft: {
    authorizeUrl: 'https://login.microsoftonline.com/common/oauth2/v2.0/authorize',
    tokenUrl: 'https://login.microsoftonline.com/common/oauth2/v2.0/token',
    pkce: 'S256',
    scope: 'openid profile offline_access User.Read',
    removeAt: 'https://account.live.com/consent/Manage',
    deviceFlow:
      'RFC 8628: <https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-device-code>.',
    lifetime: 'about 1 hour, refresh tokens 90 days',
    refusedRedirects: ['loopback', 'http'],
  },
  netatmo: {
    authorizeUrl: 'https://api.netatmo.com/oauth2/authorize',
    tokenUrl: 'https://api.netatmo.com/oauth2/token',
    scope: 'read_station',
    lifetime: '3 hours',
  },
  nextcloud: {
    authorizeUrl: '[url]/apps/oauth2/authorize',
    tokenUrl: '[url]/apps/oauth2/api/v1/token',
    pkce: 'S256',
    knownErrors: [badRefreshToken({ error: 'invalid_request' })],
    deviceFlow:
      'Login flow v2, which gives app passwords: <https://docs.nextcloud.com/server/latest/developer_manual/client_apis/LoginFlow/index.html>.',
    lifetime: '1 hour',
  },
  notion: {
    authorizeUrl: 'https://api.notion.com/v1/oauth/authorize',
    tokenUrl: 'https://api.notion.com/v1/oauth/token',
    clientAuth: 'basic',
    authorizeParams: { owner: 'user' },
    quirks: { tokenRequest: 'json' },
    revocation: { url: 'https://api.notion.com/v1/oauth/revoke', takes: 'access tokens' },
    lifetime: 'a time that Notion doesn’t say: its responses have no `expires_in`',
    refusedRedirects: ['loopback', 'http'],
  },
  oura: {
    authorizeUrl: 'https://moi.ouraring.com/oauth/v2/ext/oauth-authorize',
    tokenUrl: 'https://moi.ouraring.com/oauth/v2/ext/oauth-token',
    scope: 'extapi:personal extapi:daily',
    lifetime: '24 hours',
  },
  patreon: {
    authorizeUrl: 'https://www.patreon.com/oauth2/authorize',
    tokenUrl: 'https://www.patreon.com/api/oauth2/token',
    scope: 'identity',
    userAgentNames: 'your app',
    revocation: { url: 'https://www.patreon.com/oauth2/revoke' },
    removeAt: 'Settings, More, Connected Apps',
    lifetime: 'about 1 month, as `expires_in` says',
  },
  putio: {
    displayName: 'put.io',
    authorizeUrl: 'https://api.put.io/v2/oauth2/authenticate',
    tokenUrl: 'https://api.put.io/v2/oauth2/access_token',
    deviceFlow:
      'The app asks for a code at `https://api.put.io/v2/oauth2/oob/code`, and the user enters it at `https://put.io/link`.',
    lifetime: 'until the user revokes them',
    refreshToken: 'never',
  },
  reddit: {
    authorizeUrl: 'https://www.reddit.com/api/v1/authorize',
    tokenUrl: 'https://www.reddit.com/api/v1/access_token',
    clientAuth: 'basic',
    scope: 'identity',
    scopeSeparator: ',',
    authorizeParams: { duration: 'permanent' },
    userAgentNames:
      'your platform, app, version and account, for example `web:tv.example:1.0 (by /u/you)`',
    // A wrong client gets a 401.
    knownErrors: [badRefreshToken({ error: 400 }), badRefreshToken({ error: 'invalid_request' })],
    revocation: { url: 'https://www.reddit.com/api/v1/revoke_token' },
    lifetime: '1 to 24 hours, as `expires_in` says',
    paramsGiveRefreshToken: true,
    rotation: 'never',
  },
  roblox: {
    authorizeUrl: 'https://apis.roblox.com/oauth/v1/authorize',
    tokenUrl: 'https://apis.roblox.com/oauth/v1/token',
    pkce: 'S256',
    clientSecret: 'optional',
    scope: 'openid profile',
    revocation: { url: 'https://apis.roblox.com/oauth/v1/token/revoke' },
    lifetime: '15 minutes, refresh tokens 90 days or until they are used',
    refusedRedirects: ['http'],
  },
  shikimori: {
    authorizeUrl: 'https://shikimori.io/oauth/authorize',
    tokenUrl: 'https://shikimori.io/oauth/token',
    scope: 'user_rates',
    userAgentNames: 'the registered application',
    lifetime: '1 day',
    refusedRedirects: ['http'],
  },
  simkl: {
    authorizeUrl: 'https://simkl.com/oauth/authorize',
    tokenUrl: 'https://api.simkl.com/oauth/token',
    quirks: { clientIdHeader: 'simkl-api-key' },
    userAgentNames: 'your app and its version',
    removeAt: 'https://simkl.com/settings/connected-apps/',
    deviceFlow: 'A PIN flow that is not RFC 8628: <https://api.simkl.org/api-reference/pin>.',
    lifetime: '5 years',
    refreshToken: 'never',
  },
  smartthings: {
    displayName: 'SmartThings',
    authorizeUrl: 'https://api.smartthings.com/v1/oauth/authorize',
    tokenUrl: 'https://api.smartthings.com/v1/oauth/token',
    clientAuth: 'basic',
    scope: 'r:devices:*',
    lifetime: '24 hours, refresh tokens 30 days',
  },
  soundcloud: {
    displayName: 'SoundCloud',
    authorizeUrl: 'https://secure.soundcloud.com/authorize',
    tokenUrl: 'https://secure.soundcloud.com/oauth/token',
    pkce: 'S256',
    revocation: {
      url: 'https://secure.soundcloud.com/sign-out',
      takes: 'access tokens',
      clientAuth: 'none',
      tokenIn: 'access_token',
      body: 'json',
    },
    deviceFlow:
      'SoundCloud’s command-line tool pairs with a code at `https://secure.soundcloud.com/activate`.',
    lifetime: '1 hour',
  },
  spotify: {
    authorizeUrl: 'https://accounts.spotify.com/authorize',
    tokenUrl: 'https://accounts.spotify.com/api/token',
    pkce: 'S256',
    clientAuth: 'basic',
    clientSecret: 'optional',
    scope: 'user-read-email',
    removeAt: 'https://www.spotify.com/account/apps/',
    lifetime: '1 hour, refresh tokens 6 months from the sign-in',
    rotation: 'sometimes',
    refusedRedirects: ['localhost', 'http'],
  },
  strava: {
    authorizeUrl: 'https://www.strava.com/oauth/authorize',
    tokenUrl: 'https://www.strava.com/oauth/token',
    scope: 'read',
    scopeSeparator: ',',
    knownErrors: [
      badRefreshToken({ errors: { resource: 'RefreshToken', code: 'invalid' } }),
      {
        means: 'invalid_grant',
        grant: 'exchange',
        body: { errors: { resource: 'AuthorizationCode' } },
      },
      { means: 'invalid_client', body: { errors: { resource: 'Application' } } },
    ],
    revocation: { url: 'https://www.strava.com/oauth/revoke', clientAuth: 'basic' },
    lifetime: '6 hours',
    rotation: 'sometimes',
  },
  tidal: {
    displayName: 'TIDAL',
    authorizeUrl: 'https://login.tidal.com/authorize',
    tokenUrl: 'https://auth.tidal.com/v1/oauth2/token',
    pkce: 'S256',
    clientSecret: 'optional',
    scope: 'user.read',
    deviceFlow:
      'RFC 8628, only for TIDAL’s own apps: <https://github.com/tidal-music/tidal-sdk-web/tree/main/packages/auth>.',
    lifetime: '4 hours',
    refreshToken: 'sometimes',
    rotation: 'sometimes',
  },
  trakt: {
    authorizeUrl: 'https://auth.trakt.tv/oauth/authorize',
    tokenUrl: 'https://auth.trakt.tv/oauth/token',
    pkce: 'S256',
    clientSecret: 'optional',
    quirks: {
      tokenRequest: 'json',
      clientIdHeader: 'trakt-api-key',
      refreshesWithRedirectUri: true,
    },
    userAgentNames: 'your app and its version',
    revocation: { url: 'https://auth.trakt.tv/oauth/revoke', takes: 'access tokens' },
    deviceFlow:
      'A flow that differs a little from RFC 8628: <https://docs.trakt.tv/reference/postoauthdevicecode>.',
    lifetime: '7 days',
  },
  twitch: {
    authorizeUrl: 'https://id.twitch.tv/oauth2/authorize',
    tokenUrl: 'https://id.twitch.tv/oauth2/token',
    scope: 'user:read:email',
    revocation: {
      url: 'https://id.twitch.tv/oauth2/revoke',
      takes: 'access tokens',
      clientAuth: 'client_id',
    },
    deviceFlow:
      'RFC 8628, for public clients: <https://dev.twitch.tv/docs/authentication/getting-tokens-oauth#device-code-grant-flow>.',
    rotation: 'sometimes',
  },
  vimeo: {
    authorizeUrl: 'https://api.vimeo.com/oauth/authorize',
    tokenUrl: 'https://api.vimeo.com/oauth/access_token',
    clientAuth: 'basic',
    scope: 'public',
    revocation: {
      url: 'https://api.vimeo.com/tokens',
      takes: 'access tokens',
      method: 'DELETE',
      tokenIn: 'bearer',
    },
    deviceFlow:
      'Vimeo’s Java SDK asks for codes at `https://api.vimeo.com/oauth/device`, and exchanges them at `https://api.vimeo.com/oauth/device/authorize`.',
    lifetime: 'until the user revokes them',
    refreshToken: 'never',
  },
  whoop: {
    displayName: 'WHOOP',
    authorizeUrl: 'https://api.prod.whoop.com/oauth/oauth2/auth',
    tokenUrl: 'https://api.prod.whoop.com/oauth/oauth2/token',
    scope: 'read:profile offline',
    revocation: {
      url: 'https://api.prod.whoop.com/developer/v2/user/access',
      takes: 'access tokens',
      method: 'DELETE',
      tokenIn: 'bearer',
    },
    lifetime: '1 hour',
  },
  x: {
    authorizeUrl: 'https://x.com/i/oauth2/authorize',
    tokenUrl: 'https://api.x.com/2/oauth2/token',
    pkce: 'S256',
    clientAuth: 'basic',
    clientSecret: 'optional',
    scope: 'tweet.read users.read offline.access',
    knownErrors: [
      badRefreshToken({
        error: 'invalid_request',
        error_description: 'Value passed for the token was invalid.',
      }),
    ],
    revocation: { url: 'https://api.x.com/2/oauth2/revoke' },
    lifetime: '2 hours',
  },
  youtube: {
    ...GOOGLE,
    displayName: 'YouTube',
    scope: 'https://www.googleapis.com/auth/youtube.readonly',
    deviceFlow: 'RFC 8628: <https://developers.google.com/youtube/v3/guides/auth/devices>.',
  },
};

/** Every profile by the name that `PROVIDERS` has. */
export const PROFILES: ReadonlyMap<string, Profile> = new Map(
  Object.entries(ROWS).map(([name, row]) => [name, { ...defaultsOf(name), ...row }]),
);

/** The name as providers often write it. */
export function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** The default of `PROVIDERS`. */
export const DEFAULT_NAMES: readonly string[] = ['mal', 'anilist'];
