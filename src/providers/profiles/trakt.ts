import type { Profile } from '../profile.ts';

export const trakt: Profile = {
  displayName: 'Trakt',
  authorizeUrl: 'https://auth.trakt.tv/oauth/authorize',
  tokenUrl: 'https://auth.trakt.tv/oauth/token',
  pkce: 'S256',
  clientSecret: 'optional',
  quirks: {
    tokenRequest: 'json',
    clientIdHeader: 'trakt-api-key',
    userAgent: 'sign-in-relay',
    refreshesWithRedirectUri: true,
  },
  userAgentNames: 'your app and its version',
  revocation: { url: 'https://auth.trakt.tv/oauth/revoke', takes: 'access tokens' },
  refreshToken: { given: 'always', rotates: 'yes' },
  lifetime: 'access token 7 days',
  deviceFlow: 'Not quite RFC 8628: https://docs.trakt.tv/reference/postoauthdevicecode',
  registration: 'https://app.trakt.tv/settings/apps/api',
  register: [
    'Create an app. Since July 2026 that takes a VIP membership, and the app lasts no longer than that.',
  ],
  traps: [
    'Since July 2026 it adds a PKCE challenge of its own to a sign-in that has none, and then gives no tokens. Do not set `TRAKT_PKCE` to `none`.',
    'Its endpoints are at auth.trakt.tv since July 2026. Older guides name api.trakt.tv, trakt.tv or api-v2launch.trakt.tv.',
  ],
  sources: [
    'https://github.com/trakt/trakt-api/tree/main/projects/api/src/contracts/oauth',
    'https://docs.trakt.tv/docs/required-headers',
    'https://github.com/MunifTanjim/stremthru/issues/571',
    'https://github.com/trakt/trakt-api/pull/903',
  ],
  checked: '2026-11-23',
  unverified: {
    PKCE: 'its documentation does not mention PKCE; a report shows that trakt.tv takes a challenge of the client',
    'client secret':
      'its own tool exchanges with a verifier instead of the secret, while its documentation asks for the secret; whether a refresh, a revocation or the form of a blind sign-in goes without one was not seen',
  },
};
