/**
 * Providers that operators ask for and that cannot be enabled by name: why, and what to do
 * instead, as the start and `sign-in-relay providers <name>` say it.
 */

export interface Unsupported {
  readonly displayName: string;
  /** Complete sentences: why, and what to do instead. */
  readonly advice: string;
  readonly sources: readonly string[];
  /** The day on which somebody last read them. */
  readonly checked: string;
}

const unsupported: Readonly<Record<string, Unsupported>> = {
  amazon: {
    displayName: 'Amazon',
    advice:
      'Its own device flow needs no relay: the app asks `https://api.amazon.com/auth/o2/create/codepair` for a code, and the user enters it at `https://amazon.com/code`. If your users sign in at other providers too, set `AMAZON_AUTHORIZE_URL` to `https://www.amazon.com/ap/oa` and `AMAZON_TOKEN_URL` to `https://api.amazon.com/auth/o2/token`.',
    sources: [
      'https://developer.amazon.com/docs/login-with-amazon/retrieve-code-other-platforms-cbl-docs.html',
      'https://github.com/NangoHQ/nango/blob/master/packages/providers/providers.yaml',
    ],
    checked: '2026-11-24',
  },
  apple: {
    displayName: 'Apple',
    advice:
      'Once an app asks for a name or an email address, Apple returns with a POST, and the relay takes only the GET of docs/protocol.md. With `CONFIRM=always` the callback needs a cookie, which browsers do not send with a POST from another site. Its client secret is a signed token that lasts at most six months. Without a scope Apple returns with a GET. Set `APPLE_AUTHORIZE_URL` to `https://appleid.apple.com/auth/authorize`, `APPLE_TOKEN_URL` to `https://appleid.apple.com/auth/token`, and `APPLE_CLIENT_SECRET_FILE` to a secret that you sign yourself. The ID token then has the user’s `sub` alone. This was not tested with an account.',
    sources: [
      'https://developer.apple.com/forums/thread/660531',
      'https://openauth.js.org/docs/provider/apple',
    ],
    checked: '2026-11-22',
  },
  deezer: {
    displayName: 'Deezer',
    advice:
      'It registers no new apps since 2024, and its token endpoint does not answer in JSON. There is no other way through the relay.',
    sources: [
      'https://github.com/FoxxMD/multi-scrobbler/issues/175',
      'https://github.com/SocialiteProviders/Providers/blob/master/src/Deezer/Provider.php',
    ],
    checked: '2026-11-24',
  },
  fitbit: {
    displayName: 'Fitbit',
    advice:
      'Its endpoints were turned off on 2 November 2026, and answer 410. Its successor is the Google Health API: `PROVIDERS=google`, with the scopes of that API in `GOOGLE_SCOPE`. Google reviews apps that ask for them.',
    sources: ['https://developers.google.com/health/about'],
    checked: '2026-11-22',
  },
  goodreads: {
    displayName: 'Goodreads',
    advice:
      'It gives nobody a key for its API since December 2020, and that API has OAuth 1.0. There is no other way through the relay.',
    sources: [
      'https://raw.githubusercontent.com/api-evangelist/goodreads/refs/heads/main/lifecycle/goodreads-lifecycle.yml',
      'https://github.com/rixx/goodreads-to-sqlite/issues/7',
    ],
    checked: '2026-11-24',
  },
  instagram: {
    displayName: 'Instagram',
    advice:
      'A code gives a token for one hour. The token for 60 days, and each refresh of it, comes from a GET with an access token, and the relay sends only the POST of RFC 6749 §6. Facebook Login has tokens for Instagram accounts that belong to a page: `PROVIDERS=facebook`, with `instagram_basic` in `FACEBOOK_SCOPE`.',
    sources: [
      'https://developers.facebook.com/documentation/instagram-platform/reference/access_token',
      'https://developers.facebook.com/documentation/instagram-platform/reference/refresh_access_token',
      'https://developers.facebook.com/documentation/instagram-platform/instagram-api-with-facebook-login/get-started',
    ],
    checked: '2026-11-24',
  },
  itchio: {
    displayName: 'itch.io',
    advice:
      'It has only the implicit flow, which returns the token to a page with a script; the pages of the relay have none. The app itself has to ask for an API key of the user.',
    sources: [
      'https://itch.io/docs/api/oauth',
      'https://gist.github.com/jneen/2737b60fd500581952bcb8bc6e61038b',
    ],
    checked: '2026-11-24',
  },
  jellyfin: {
    displayName: 'Jellyfin',
    advice:
      'It has no OAuth. Use its own Quick Connect, which needs no relay: the app shows a code, and the user enters it in a Jellyfin that is already signed in.',
    sources: [
      'https://kotlin-sdk.jellyfin.org/guide/authentication.html',
      'https://github.com/jellyfin/jellycon',
    ],
    checked: '2026-11-22',
  },
  kitsu: {
    displayName: 'Kitsu',
    advice:
      'Its server grants `password` and `assertion` only, and the relay never sees passwords. The app itself has to ask for the password.',
    sources: [
      'https://github.com/hummingbird-me/kitsu-server/blob/the-future/config/initializers/doorkeeper.rb',
    ],
    checked: '2026-11-22',
  },
  lastfm: {
    displayName: 'Last.fm',
    advice:
      'It has no OAuth 2.0: a session key comes from calls that are signed with the secret. Its authentication for desktop apps needs no relay: the app calls `auth.getToken`, shows `https://www.last.fm/api/auth/?api_key=…&token=…` as a QR code, and calls `auth.getSession` until the user has agreed.',
    sources: [
      'https://www.rubydoc.info/gems/rockstar/0.7.0/Rockstar/Auth',
      'https://hackage.haskell.org/package/liblastfm-0.7.0/docs/Lastfm-Authentication.html',
    ],
    checked: '2026-11-22',
  },
  letterboxd: {
    displayName: 'Letterboxd',
    advice:
      'It gives the key of its API only to those it selects. The clients that were read send the user’s password, which the relay never sees. If your key comes with an authorization endpoint, set `LETTERBOXD_AUTHORIZE_URL` and `LETTERBOXD_TOKEN_URL`.',
    sources: [
      'https://pypi.org/project/letterboxd/',
      'https://github.com/erunion/letterboxd-client',
    ],
    checked: '2026-11-24',
  },
  playstation: {
    displayName: 'PlayStation',
    advice:
      'No registration for apps of others was found: libraries call its API with a cookie of the user’s browser and the client id of an app of Sony. There is no other way through the relay.',
    sources: [
      'https://pypi.org/project/PSNAWP/',
      'https://docs.rs/crate/psn_api_rs/latest/source/src/metas.rs',
    ],
    checked: '2026-11-24',
  },
  plex: {
    displayName: 'Plex',
    advice:
      'Its API takes tokens that come from codes of its own, not from OAuth. Its codes need no relay: the app asks for one at `https://plex.tv/api/v2/pins`, the user enters it at `https://plex.tv/link`, and the app asks for the token.',
    sources: ['https://hexdocs.pm/plex_pin_auth', 'https://github.com/seitzbg/plex-token-cli'],
    checked: '2026-11-22',
  },
  salesforce: {
    displayName: 'Salesforce',
    advice:
      'Its own device flow needs no relay: switch it on in the app there, and ask the token endpoint for a code with `response_type=device_code`. If your users sign in at other providers too, set `SALESFORCE_AUTHORIZE_URL` to `https://login.salesforce.com/services/oauth2/authorize` and `SALESFORCE_TOKEN_URL` to `https://login.salesforce.com/services/oauth2/token`.',
    sources: [
      'https://help.salesforce.com/s/articleView?id=sf.remoteaccess_oauth_device_flow.htm',
      'https://github.com/NangoHQ/nango/blob/master/packages/providers/providers.yaml',
    ],
    checked: '2026-11-24',
  },
  steam: {
    displayName: 'Steam',
    advice:
      'It has OpenID 2.0, which tells who a user is and gives no token. A proxy that turns it into OpenID Connect, such as steam-openid-connect-provider, can be set as `STEAM_ISSUER`.',
    sources: [
      'https://github.com/goauthentik/authentik/issues/2282',
      'https://dev.to/emma/setting-up-steam-authentication-using-openid-20ma',
    ],
    checked: '2026-11-24',
  },
  tado: {
    displayName: 'tado',
    advice:
      'It has only a device flow of its own (RFC 8628), at `https://login.tado.com/oauth2/device_authorize`, which needs no relay.',
    sources: [
      'https://pypi.org/project/python-tado/',
      'https://github.com/mattdavis90/node-tado-client',
    ],
    checked: '2026-11-24',
  },
  vk: {
    displayName: 'VK',
    advice:
      'VK ID returns with a `device_id` besides the code, and wants it in each token request. The relay sends only what RFC 6749 §4.1.3 has. The older endpoints at oauth.vk.com are deprecated. There is no other way through the relay.',
    sources: [
      'https://packagist.org/packages/gam6itko/oauth2-vk-id',
      'https://vkcom.github.io/vkid-android-sdk/vkid/com.vk.id.auth/-auth-code-data/device-id.html',
    ],
    checked: '2026-11-22',
  },
  yandex: {
    displayName: 'Yandex',
    advice:
      'Its own device flow needs no relay: the app asks `https://oauth.yandex.com/device/code` for a code, and the user enters it at `https://oauth.yandex.com/device`. If your users sign in at other providers too, set `YANDEX_AUTHORIZE_URL` to `https://oauth.yandex.com/authorize` and `YANDEX_TOKEN_URL` to `https://oauth.yandex.com/token`.',
    sources: [
      'https://yandex.com/dev/id/doc/en/codes/screen-code-oauth',
      'https://yandex.com/dev/id/doc/en/codes/code-url',
    ],
    checked: '2026-11-24',
  },
};

export const UNSUPPORTED: ReadonlyMap<string, Unsupported> = new Map(Object.entries(unsupported));
