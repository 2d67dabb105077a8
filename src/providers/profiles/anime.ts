/** Anime and manga lists, and trackers of films and series. */
import { libraries, type Profile, readOn } from './profile.ts';

const { fact, unverified } = readOn('2026-11-21');

const MAL = 'https://myanimelist.net/apiconfig/references/authorization';
const MAL_GUIDE = 'https://myanimelist.net/blog.php?eid=835707';
const MIHON_MAL =
  'https://github.com/mihonapp/mihon/blob/main/app/src/main/java/eu/kanade/tachiyomi/data/track/myanimelist/dto/MALOAuth.kt';

const mal: Profile = {
  displayName: 'MyAnimeList',
  authorizeUrl: fact('https://myanimelist.net/v1/oauth2/authorize', MAL),
  tokenUrl: fact('https://myanimelist.net/v1/oauth2/token', MAL),
  pkce: fact('plain', MAL),
  clientAuth: fact('post', MAL),
  clientSecret: fact('optional', MAL_GUIDE),
  scope: fact('', MAL),
  refreshToken: fact('always', MAL),
  rotates: fact('yes', MIHON_MAL),
  lifetime: fact('access token 1 hour, refresh token 1 month', MAL),
  deviceFlow: fact('none', MAL),
  responses: [],
  registration: fact('https://myanimelist.net/apiconfig', MAL_GUIDE),
  register: [
    'Choose Create ID.',
    'App Type: `web` gives a client secret, the other types give none. Both work. The type cannot be changed later.',
    'App Redirect URL: the redirect URI below.',
  ],
  traps: [
    fact('Its only PKCE method is `plain`: anything else is refused.', MAL),
    fact(
      'A refresh has to come from the client id that the sign-in was made with. If you replace the client id, users sign in again.',
      'https://github.com/kodjodevf/mangayomi/pull/534',
    ),
  ],
};

const ANILIST = 'https://docs.anilist.co/guide/auth/';
const ANILIST_CODE = 'https://docs.anilist.co/guide/auth/authorization-code';

const anilist: Profile = {
  displayName: 'AniList',
  authorizeUrl: fact('https://anilist.co/api/v2/oauth/authorize', ANILIST_CODE),
  tokenUrl: fact('https://anilist.co/api/v2/oauth/token', ANILIST_CODE),
  pkce: fact('none', ANILIST_CODE),
  clientAuth: fact('post', ANILIST_CODE),
  clientSecret: fact('required', ANILIST_CODE),
  scope: fact('', ANILIST),
  refreshToken: fact('never', ANILIST),
  rotates: fact('no refresh tokens', ANILIST),
  lifetime: fact('access token 1 year', ANILIST),
  deviceFlow: fact('none', ANILIST),
  responses: [],
  registration: fact('https://anilist.co/settings/developer', ANILIST),
  register: ['Choose Create New Client.', 'Redirect URL: the redirect URI below.'],
  traps: [
    fact('After a year the user signs in again: there is nothing to refresh.', ANILIST),
    fact('An application cannot be deleted.', ANILIST),
  ],
};

const KITSU = 'https://hummingbird-me.github.io/api-docs/';
const KITSU_SERVER =
  'https://github.com/hummingbird-me/kitsu-server/blob/the-future/config/initializers/doorkeeper.rb';
const KITSU_NO_CODE =
  'its documentation and its published server have the password grant alone, while some apps use an authorization address';

const kitsu: Profile = {
  displayName: 'Kitsu',
  authorizeUrl: unverified('https://kitsu.app/api/oauth/authorize', KITSU_NO_CODE, KITSU_SERVER),
  tokenUrl: unverified(
    'https://kitsu.app/api/oauth/token',
    'its documentation says kitsu.io, current apps say kitsu.app',
    KITSU,
  ),
  pkce: unverified('none', 'its documentation does not mention PKCE', KITSU),
  clientAuth: unverified('post', KITSU_NO_CODE, KITSU),
  clientSecret: unverified('required', 'apps cannot be registered yet', KITSU),
  scope: fact('', KITSU_SERVER),
  refreshToken: fact('always', KITSU_SERVER),
  rotates: unverified('yes', 'its documentation shows one response for both grants', KITSU),
  lifetime: fact('access token 30 days', KITSU, KITSU_SERVER),
  deviceFlow: fact('none', KITSU),
  responses: [],
  registration: unverified(
    'https://kitsu.app/api/oauth/applications',
    'its documentation says that apps cannot be registered yet',
    KITSU,
  ),
  register: ['Ask Kitsu for a client of your own that may use the authorization code grant.'],
  traps: [
    fact(
      'The documented grant is the password grant, which the relay does not use: a sign-in probably fails unless Kitsu has enabled the authorization code grant for your client.',
      KITSU,
      KITSU_SERVER,
    ),
  ],
};

const SHIKIMORI = 'https://shikimori.one/oauth';
const SHIKIMORI_SERVER =
  'https://github.com/shikimori/shikimori/blob/master/config/initializers/doorkeeper.rb';
const SHIKIMORI_MOVED = 'https://github.com/z411/trackma/pull/837';
const SHIKIMORI_HOST =
  'its documentation says shikimori.one, which since January 2026 leads to shikimori.io; the relay follows no redirect';

const shikimori: Profile = {
  displayName: 'Shikimori',
  authorizeUrl: unverified(
    'https://shikimori.io/oauth/authorize',
    SHIKIMORI_HOST,
    SHIKIMORI,
    SHIKIMORI_MOVED,
  ),
  tokenUrl: unverified(
    'https://shikimori.io/oauth/token',
    SHIKIMORI_HOST,
    SHIKIMORI,
    SHIKIMORI_MOVED,
  ),
  pkce: fact('none', SHIKIMORI),
  clientAuth: fact('post', SHIKIMORI),
  clientSecret: fact('required', SHIKIMORI),
  scope: fact('user_rates', SHIKIMORI_SERVER),
  refreshToken: fact('always', SHIKIMORI),
  rotates: fact('yes', SHIKIMORI),
  lifetime: fact('access token 1 day', SHIKIMORI, SHIKIMORI_SERVER),
  deviceFlow: fact('none', SHIKIMORI),
  userAgent: fact('the name of the registered application', SHIKIMORI),
  responses: [],
  registration: unverified(
    'https://shikimori.io/oauth/applications',
    SHIKIMORI_HOST,
    SHIKIMORI,
    SHIKIMORI_MOVED,
  ),
  register: [
    'Name: what `SHIKIMORI_USER_AGENT` will say.',
    'Redirect URI: the redirect URI below.',
    'Scopes: those that your app needs; `user_rates` is for lists.',
  ],
  traps: [
    fact(
      'Without a `User-Agent` that names the application it may block the relay’s address.',
      'https://ruby-toolbox.com/projects/omniauth-shikimori-oauth2',
      SHIKIMORI,
    ),
    unverified(
      'Its domain has moved before. If token requests fail, set `SHIKIMORI_AUTHORIZE_URL` and `SHIKIMORI_TOKEN_URL` to where it is now.',
      SHIKIMORI_HOST,
      SHIKIMORI_MOVED,
    ),
  ],
};

const BANGUMI = 'https://github.com/bangumi/api/blob/master/docs-raw/How-to-Auth.md';
const BANGUMI_AGENT = 'https://github.com/bangumi/api/blob/master/docs-raw/user%20agent.md';

const bangumi: Profile = {
  displayName: 'Bangumi',
  authorizeUrl: fact('https://bgm.tv/oauth/authorize', BANGUMI),
  tokenUrl: fact('https://bgm.tv/oauth/access_token', BANGUMI),
  pkce: fact('none', BANGUMI),
  clientAuth: fact('post', BANGUMI),
  clientSecret: fact('required', BANGUMI),
  scope: fact('', BANGUMI),
  refreshToken: fact('always', BANGUMI),
  rotates: fact('yes', BANGUMI),
  lifetime: fact('access token 7 days', BANGUMI),
  deviceFlow: fact('none', BANGUMI),
  userAgent: fact('you and your app, as in `sai/my-private-project`', BANGUMI_AGENT),
  refreshesWithRedirectUri: fact(true, BANGUMI),
  responses: [fact('`scope` is `null`', BANGUMI)],
  registration: fact('https://bgm.tv/dev/app', BANGUMI),
  register: ['Create an app (创建应用).', 'Callback URL (回调地址): the redirect URI below.'],
  traps: [
    fact('A code is good for 60 seconds.', BANGUMI),
    fact('It may block the default user agents of HTTP libraries.', BANGUMI_AGENT),
  ],
};

const SIMKL = 'https://api.simkl.org/api-reference/oauth-libraries';
const SIMKL_AUTH = 'https://api.simkl.org/authentication';
const SIMKL_TOKEN = 'https://api.simkl.org/api-reference/simkl/exchange-token';

const simkl: Profile = {
  displayName: 'Simkl',
  authorizeUrl: fact('https://simkl.com/oauth/authorize', SIMKL),
  tokenUrl: fact('https://api.simkl.com/oauth/token', SIMKL),
  pkce: fact('none', SIMKL_TOKEN),
  clientAuth: fact('post', SIMKL),
  clientSecret: fact('required', SIMKL_TOKEN),
  scope: fact('', SIMKL),
  refreshToken: fact('never', SIMKL),
  rotates: fact('no refresh tokens', SIMKL),
  lifetime: fact('access token 5 years', SIMKL_AUTH),
  deviceFlow: fact(
    'A PIN flow of its own, not RFC 8628: https://api.simkl.org/api-reference/pin',
    'https://api.simkl.org/api-reference/pin',
    'https://api.simkl.org/api-reference/simkl/get-pin',
  ),
  userAgent: fact('your app and its version', SIMKL_TOKEN),
  responses: [],
  registration: fact('https://simkl.com/settings/developer/', SIMKL_AUTH),
  register: ['Create an app.', 'Redirect URI: the redirect URI below, to the letter.'],
  traps: [
    fact(
      'It takes either a client secret or PKCE, not both. To go without a secret, leave `SIMKL_CLIENT_SECRET` unset and set `SIMKL_PKCE=S256`.',
      SIMKL_TOKEN,
    ),
    fact(
      'Users sign in at simkl.com, tokens come from api.simkl.com: the two are easily mixed up.',
      'https://api.simkl.org/api-reference/oauth-pkce',
    ),
  ],
};

const TRAKT =
  'https://github.com/trakt/trakt-api/blob/main/projects/api/src/contracts/oauth/index.ts';
const TRAKT_REFRESH =
  'https://github.com/trakt/trakt-api/blob/main/projects/api/src/contracts/oauth/schema/request/tokenRefreshSchema.ts';
const TRAKT_HOST =
  'its own repository says auth.trakt.tv since July 2026, copies of its reference pages say api.trakt.tv';
const TRAKT_HEADERS = 'https://docs.trakt.tv/docs/required-headers';

const trakt: Profile = {
  displayName: 'Trakt',
  authorizeUrl: unverified(
    'https://auth.trakt.tv/oauth/authorize',
    TRAKT_HOST,
    TRAKT,
    libraries.authJs('trakt'),
  ),
  tokenUrl: unverified(
    'https://auth.trakt.tv/oauth/token',
    TRAKT_HOST,
    TRAKT,
    'https://docs.trakt.tv/reference/postoauthdevicetoken',
  ),
  pkce: fact('none', TRAKT),
  clientAuth: fact('post', TRAKT),
  clientSecret: fact('required', TRAKT_REFRESH),
  scope: fact('', TRAKT),
  refreshToken: fact('always', TRAKT),
  rotates: fact('yes', TRAKT, TRAKT_REFRESH),
  lifetime: unverified(
    'access token 1 to 7 days',
    'its documentation says 7 days, its announcement of 2025 said 24 hours',
    'https://docs.trakt.tv/reference/postoauthdevicetoken',
    'https://github.com/dylandoamaral/trakt-integration/issues/140',
  ),
  deviceFlow: fact(
    'Like RFC 8628, with statuses of its own: https://docs.trakt.tv/reference/postoauthdevicecode',
    'https://docs.trakt.tv/reference/postoauthdevicecode',
    TRAKT,
  ),
  tokenRequest: fact('json', TRAKT_HEADERS, 'https://docs.trakt.tv/reference/postoauthtoken'),
  clientIdHeader: fact('trakt-api-key', TRAKT_HEADERS),
  userAgent: fact('your app and its version', TRAKT_HEADERS),
  refreshesWithRedirectUri: fact(true, TRAKT_REFRESH),
  responses: [],
  registration: fact(
    'https://app.trakt.tv/settings/apps',
    'https://github.com/trakt/trakt-api/blob/main/projects/api/src/contracts/oauth/schema/request/tokenBaseSchema.ts',
  ),
  register: ['Create an app.', 'Redirect URI: the redirect URI below.'],
  traps: [
    fact(
      'Its addresses for OAuth are at auth.trakt.tv since July 2026. Older guides name api.trakt.tv, trakt.tv or api-v2launch.trakt.tv.',
      TRAKT,
    ),
    fact('A refresh token works once. Store the new one before you refresh again.', TRAKT_REFRESH),
  ],
};

export const ANIME = { mal, anilist, kitsu, shikimori, bangumi, simkl, trakt } as const;
