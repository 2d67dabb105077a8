/**
 * Providers that operators ask for and that cannot be enabled by name: why, and what to do
 * instead, as the start and `sign-in-relay providers <name>` say it.
 */

export interface Unsupported {
  readonly displayName: string;
  /** Complete sentences. */
  readonly reason: string;
  readonly instead: string;
  readonly sources: readonly string[];
  /** The day on which somebody last read them. */
  readonly checked: string;
}

const unsupported: Readonly<Record<string, Unsupported>> = {
  apple: {
    displayName: 'Apple',
    reason:
      'Once an app asks for a name or an email address, Apple returns with a POST, and the relay takes only the GET of docs/protocol.md. With `CONFIRM=always` the callback needs a cookie, which browsers do not send with a POST from another site. Its client secret is a signed token that lasts at most six months.',
    instead:
      'Without a scope Apple returns with a GET. Set `APPLE_AUTHORIZE_URL` to `https://appleid.apple.com/auth/authorize`, `APPLE_TOKEN_URL` to `https://appleid.apple.com/auth/token`, and `APPLE_CLIENT_SECRET_FILE` to a secret that you sign yourself. The ID token then has the user’s `sub` alone. This was not tested with an account.',
    sources: [
      'https://developer.apple.com/forums/thread/660531',
      'https://openauth.js.org/docs/provider/apple',
    ],
    checked: '2026-11-22',
  },
  fitbit: {
    displayName: 'Fitbit',
    reason: 'Its endpoints were turned off on 2 November 2026, and answer 410.',
    instead:
      'Its successor is the Google Health API: `PROVIDERS=google`, with the scopes of that API in `GOOGLE_SCOPE`. Google reviews apps that ask for them.',
    sources: ['https://developers.google.com/health/about'],
    checked: '2026-11-22',
  },
  jellyfin: {
    displayName: 'Jellyfin',
    reason: 'It has no OAuth.',
    instead:
      'Use its own Quick Connect, which needs no relay: the app shows a code, and the user enters it in a Jellyfin that is already signed in.',
    sources: [
      'https://kotlin-sdk.jellyfin.org/guide/authentication.html',
      'https://github.com/jellyfin/jellycon',
    ],
    checked: '2026-11-22',
  },
  kitsu: {
    displayName: 'Kitsu',
    reason:
      'Its server grants `password` and `assertion` only, and the relay never sees passwords.',
    instead: 'The app itself has to ask for the password.',
    sources: [
      'https://github.com/hummingbird-me/kitsu-server/blob/the-future/config/initializers/doorkeeper.rb',
    ],
    checked: '2026-11-22',
  },
  lastfm: {
    displayName: 'Last.fm',
    reason: 'It has no OAuth 2.0: a session key comes from calls that are signed with the secret.',
    instead:
      'Its authentication for desktop apps needs no relay: the app calls `auth.getToken`, shows `https://www.last.fm/api/auth/?api_key=…&token=…` as a QR code, and calls `auth.getSession` until the user has agreed.',
    sources: [
      'https://www.rubydoc.info/gems/rockstar/0.7.0/Rockstar/Auth',
      'https://hackage.haskell.org/package/liblastfm-0.7.0/docs/Lastfm-Authentication.html',
    ],
    checked: '2026-11-22',
  },
  plex: {
    displayName: 'Plex',
    reason: 'Its API takes tokens that come from codes of its own, not from OAuth.',
    instead:
      'Its codes need no relay: the app asks for one at `https://plex.tv/api/v2/pins`, the user enters it at `https://plex.tv/link`, and the app asks for the token.',
    sources: ['https://hexdocs.pm/plex_pin_auth', 'https://github.com/seitzbg/plex-token-cli'],
    checked: '2026-11-22',
  },
  vk: {
    displayName: 'VK',
    reason:
      'VK ID returns with a `device_id` besides the code, and wants it in each token request. The relay sends only what RFC 6749 §4.1.3 has. The older endpoints at oauth.vk.com are deprecated.',
    instead: 'There is no other way through the relay.',
    sources: [
      'https://packagist.org/packages/gam6itko/oauth2-vk-id',
      'https://vkcom.github.io/vkid-android-sdk/vkid/com.vk.id.auth/-auth-code-data/device-id.html',
    ],
    checked: '2026-11-22',
  },
};

export const UNSUPPORTED: ReadonlyMap<string, Unsupported> = new Map(Object.entries(unsupported));
