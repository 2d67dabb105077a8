import type { Profile } from '../profile.ts';

export const reddit: Profile = {
  displayName: 'Reddit',
  authorizeUrl: 'https://www.reddit.com/api/v1/authorize',
  tokenUrl: 'https://www.reddit.com/api/v1/access_token',
  pkce: 'none',
  clientAuth: 'basic',
  scope: 'identity',
  scopeSeparator: ',',
  authorizeParams: { duration: 'permanent' },
  quirks: { userAgent: 'sign-in-relay' },
  userAgentNames: 'your platform, app, version and account, as in `web:tv.example:1.0 (by /u/you)`',
  revocation: { url: 'https://www.reddit.com/api/v1/revoke_token' },
  refreshToken: { given: 'with the parameters above', rotates: 'no' },
  lifetime: 'access token 1 to 24 hours, as `expires_in` says',
  review: 'Since November 2025 Reddit approves each app before it may use the API.',
  registration: 'https://www.reddit.com/prefs/apps',
  register: [
    'Ask for access to the API first: Reddit approves each app.',
    'Choose create app, and web app: the others have no secret or reach only your own account.',
  ],
  traps: ['`REDDIT_SCOPE` takes commas or spaces between scopes: `identity,read`.'],
  sources: [
    'https://github.com/reddit-archive/reddit/wiki/OAuth2',
    'https://github.com/reddit-archive/reddit/blob/master/r2/r2/models/token.py',
    'https://github.com/SocialiteProviders/Providers/blob/master/src/Reddit/Provider.php',
    'https://support.reddithelp.com/hc/articles/42728983564564',
  ],
  checked: '2026-11-22',
  unverified: {
    rotation:
      'its documentation shows no new one, while a client was prepared for single use in 2021',
    lifetime: 'its documentation says 1 hour, users report 24',
  },
};
