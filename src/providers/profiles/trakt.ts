import type { Profile } from '../profile.ts';

export const trakt: Profile = {
  displayName: 'Trakt',
  authorizeUrl: 'https://auth.trakt.tv/oauth/authorize',
  tokenUrl: 'https://auth.trakt.tv/oauth/token',
  pkce: 'S256',
  clientAuth: 'post',
  clientSecret: 'optional',
  quirks: {
    tokenRequest: 'json',
    clientIdHeader: 'trakt-api-key',
    userAgent: 'sign-in-relay',
    refreshesWithRedirectUri: true,
  },
  userAgentNames: 'your app and its version',
  revocation: { url: 'https://auth.trakt.tv/oauth/revoke', takes: 'access tokens' },
  refreshToken: 'always',
  rotates: 'yes',
  lifetime: 'access token 7 days',
  deviceFlow:
    'Like RFC 8628, with statuses of its own: https://docs.trakt.tv/reference/postoauthdevicecode',
  registration: 'https://app.trakt.tv/settings/apps/api',
  register: [
    'Become a VIP member: since July 2026 only members create apps, and an app lasts no longer than the membership.',
    'Create an app.',
    'Redirect URI: the redirect URI below.',
  ],
  traps: [
    'Since July 2026 it adds a PKCE challenge of its own to a sign-in that has none, and then gives no tokens. Do not set `TRAKT_PKCE` to `none`.',
    'Its endpoints are at auth.trakt.tv since July 2026. Older guides name api.trakt.tv, trakt.tv or api-v2launch.trakt.tv.',
    'A refresh token works once. Store the new one before you refresh again.',
  ],
  evidence: {
    checked: { on: '2026-11-23', by: 'stored copies' },
    sources: {
      'https://docs.trakt.tv/reference/postoauthrevoke': ['revocation'],
      'https://github.com/trakt/trakt-api/blob/main/projects/api/src/contracts/oauth/index.ts': [
        'authorizeUrl',
        'tokenUrl',
        'lifetime',
        'revocation',
        'clientAuth',
        'scope',
        'refreshToken',
        'rotates',
        'deviceFlow',
        'trap 2',
      ],
      'https://github.com/nextauthjs/next-auth/blob/main/packages/core/src/providers/trakt.ts': [
        'authorizeUrl',
      ],
      'https://docs.trakt.tv/reference/postoauthdevicetoken': ['tokenUrl', 'lifetime'],
      'https://github.com/trakt/trakt-api/blob/main/projects/api/src/contracts/oauth/schema/request/tokenRefreshSchema.ts':
        ['rotates', 'refreshesWithRedirectUri', 'trap 3'],
      'https://docs.trakt.tv/reference/postoauthdevicecode': ['deviceFlow'],
      'https://docs.trakt.tv/docs/required-headers': [
        'tokenRequest',
        'clientIdHeader',
        'userAgent',
      ],
      'https://docs.trakt.tv/reference/postoauthtoken': ['tokenRequest'],
      'https://github.com/Radarr/Radarr/issues/11580': ['trap 1'],
      'https://github.com/MunifTanjim/stremthru/issues/571': ['pkce', 'trap 1'],
      'https://github.com/trakt/trakt-api/pull/903': ['clientSecret'],
      'https://github.com/trakt/trakt-api/issues/902': ['registration'],
    },
    unverified: {
      pkce: 'its documentation does not mention PKCE; a report shows that trakt.tv takes a challenge of the client',
      clientSecret:
        'its own tool exchanges with a verifier in place of the secret, while its documentation asks for the secret; whether a refresh or a revocation goes without one was not seen',
    },
  },
};
