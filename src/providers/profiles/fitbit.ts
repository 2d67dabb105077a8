import type { Profile } from '../profile.ts';

export const fitbit: Profile = {
  displayName: 'Fitbit',
  authorizeUrl: 'https://www.fitbit.com/oauth2/authorize',
  tokenUrl: 'https://api.fitbit.com/oauth2/token',
  pkce: 'S256',
  clientAuth: 'basic',
  clientSecret: 'required',
  scope: 'profile',
  revocation: { url: 'https://api.fitbit.com/oauth2/revoke' },
  refreshToken: 'always',
  rotates: 'yes',
  lifetime: 'access token 8 hours',
  deviceFlow: 'none',
  responses: ['`user_id` is beside the tokens; the relay drops it'],
  registration: 'https://dev.fitbit.com/apps',
  register: [
    'OAuth 2.0 Application Type: Server.',
    'Redirect URL: the redirect URI below.',
    'Default Access Type: Read Only, unless the app writes.',
  ],
  traps: [
    'Its successor is the Google Health API. For that use `PROVIDERS=google` with its scopes in `GOOGLE_SCOPE`.',
    'An app of the type Server has to authenticate by HTTP Basic.',
    'A code is valid for 10 minutes.',
  ],
  evidence: {
    readOn: '2026-11-21',
    sources: {
      'https://dev.fitbit.com/build/reference/web-api/authorization/revoke-token/': ['revocation'],
      'https://github.com/golang/oauth2/blob/master/endpoints/endpoints.go': ['authorizeUrl'],
      'https://apis.io/providers/fitbit/': ['authorizeUrl', 'tokenUrl'],
      'https://dev.fitbit.com/build/reference/web-api/authorization/oauth2-token/': [
        'tokenUrl',
        'pkce',
        'clientAuth',
        'clientSecret',
        'lifetime',
        'response 1',
        'trap 2',
        'trap 3',
      ],
      'https://dev.fitbit.com/build/reference/web-api/authorization/': ['pkce', 'deviceFlow'],
      'https://github.com/SocialiteProviders/Providers/blob/master/src/Fitbit/Provider.php': [
        'scope',
      ],
      'https://github.com/python-social-auth/social-core/blob/master/social_core/backends/fitbit.py':
        ['scope'],
      'https://dev.fitbit.com/build/reference/web-api/authorization/refresh-token/': [
        'refreshToken',
        'rotates',
      ],
      'https://developers.google.com/health/migration': ['registration', 'trap 1'],
    },
    unverified: {
      authorizeUrl:
        'Google announced the end of this API for September 2026; whether it still answers was not seen',
      tokenUrl:
        'Google announced the end of this API for September 2026; whether it still answers was not seen',
      'trap 1':
        'Google announced the end of this API for September 2026; whether it still answers was not seen',
    },
  },
};
