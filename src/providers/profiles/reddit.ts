import type { Profile } from '../profile.ts';

export const reddit: Profile = {
  displayName: 'Reddit',
  authorizeUrl: 'https://www.reddit.com/api/v1/authorize',
  tokenUrl: 'https://www.reddit.com/api/v1/access_token',
  pkce: 'none',
  clientAuth: 'basic',
  clientSecret: 'required',
  scope: 'identity',
  scopeSeparator: ',',
  authorizeParams: { duration: 'permanent' },
  quirks: { userAgent: 'sign-in-relay' },
  userAgentNames: 'your platform, app, version and account, as in `web:tv.example:1.0 (by /u/you)`',
  revocation: { url: 'https://www.reddit.com/api/v1/revoke_token' },
  refreshToken: 'with the parameters above',
  rotates: 'no',
  lifetime: 'access token 1 to 24 hours, as `expires_in` says',
  deviceFlow: 'none',
  responses: ['a refusal may be `200` with an `error`'],
  review: 'Since November 2025 Reddit approves each app before it may use the API.',
  registration: 'https://www.reddit.com/prefs/apps',
  register: [
    'Ask for access to the API first: Reddit approves each app.',
    'Choose create app, and web app: the others have no secret or reach only your own account.',
    'redirect uri: the redirect URI below.',
  ],
  traps: [
    'Without `duration=permanent` it gives no refresh token.',
    '`REDDIT_SCOPE` takes commas or spaces between scopes: `identity,read`.',
  ],
  evidence: {
    checked: { on: '2026-11-22', by: 'stored copies' },
    sources: {
      'https://github.com/reddit-archive/reddit/wiki/OAuth2': [
        'revocation',
        'authorizeUrl',
        'tokenUrl',
        'pkce',
        'clientAuth',
        'clientSecret',
        'authorizeParams',
        'refreshToken',
        'rotates',
        'lifetime',
        'deviceFlow',
        'registration',
        'response 1',
        'trap 1',
      ],
      'https://github.com/reddit-archive/reddit/blob/master/r2/r2/models/token.py': ['trap 2'],
      'https://github.com/nextauthjs/next-auth/blob/main/packages/core/src/providers/reddit.ts': [
        'authorizeUrl',
        'tokenUrl',
        'pkce',
      ],
      'https://github.com/SocialiteProviders/Providers/blob/master/src/Reddit/Provider.php': [
        'clientAuth',
        'scope',
        'userAgent',
      ],
      'https://github.com/python-social-auth/social-core/blob/master/social_core/backends/reddit.py':
        ['scope'],
      'https://github.com/NangoHQ/nango/blob/master/packages/providers/providers.yaml': [
        'authorizeParams',
      ],
      'https://github.com/praw-dev/asyncpraw/pull/82': ['rotates'],
      'https://github.com/automatisch/automatisch/issues/2126': ['lifetime'],
      'https://support.reddithelp.com/hc/articles/42728983564564': ['review'],
    },
    unverified: {
      rotates:
        'its documentation shows no new one, while a client was prepared for single use in 2021',
      lifetime: 'its documentation says 1 hour, users report 24',
    },
  },
};
