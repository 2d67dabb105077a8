import type { Profile } from '../profile.ts';

export const trakt: Profile = {
  displayName: 'Trakt',
  authorizeUrl: 'https://auth.trakt.tv/oauth/authorize',
  tokenUrl: 'https://auth.trakt.tv/oauth/token',
  pkce: 'none',
  clientAuth: 'post',
  clientSecret: 'required',
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
  registration: 'https://app.trakt.tv/settings/apps',
  register: ['Create an app.', 'Redirect URI: the redirect URI below.'],
  traps: [
    'Its endpoints are at auth.trakt.tv since July 2026. Older guides name api.trakt.tv, trakt.tv or api-v2launch.trakt.tv.',
    'A refresh token works once. Store the new one before you refresh again.',
  ],
  evidence: {
    checked: { on: '2026-11-22', by: 'stored copies' },
    sources: {
      'https://docs.trakt.tv/reference/postoauthrevoke': ['revocation'],
      'https://github.com/trakt/trakt-api/blob/main/projects/api/src/contracts/oauth/index.ts': [
        'authorizeUrl',
        'tokenUrl',
        'lifetime',
        'revocation',
        'pkce',
        'clientAuth',
        'scope',
        'refreshToken',
        'rotates',
        'deviceFlow',
        'trap 1',
      ],
      'https://github.com/nextauthjs/next-auth/blob/main/packages/core/src/providers/trakt.ts': [
        'authorizeUrl',
      ],
      'https://docs.trakt.tv/reference/postoauthdevicetoken': ['tokenUrl', 'lifetime'],
      'https://github.com/trakt/trakt-api/blob/main/projects/api/src/contracts/oauth/schema/request/tokenRefreshSchema.ts':
        ['clientSecret', 'rotates', 'refreshesWithRedirectUri', 'trap 2'],
      'https://docs.trakt.tv/reference/postoauthdevicecode': ['deviceFlow'],
      'https://docs.trakt.tv/docs/required-headers': [
        'tokenRequest',
        'clientIdHeader',
        'userAgent',
      ],
      'https://docs.trakt.tv/reference/postoauthtoken': ['tokenRequest'],
      'https://github.com/trakt/trakt-api/blob/main/projects/api/src/contracts/oauth/schema/request/tokenBaseSchema.ts':
        ['registration'],
    },
  },
};
