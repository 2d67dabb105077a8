import type { Profile } from '../profile.ts';

export const strava: Profile = {
  displayName: 'Strava',
  authorizeUrl: 'https://www.strava.com/oauth/authorize',
  tokenUrl: 'https://www.strava.com/oauth/token',
  pkce: 'none',
  scope: 'read',
  scopeSeparator: ',',
  revocation: { url: 'https://www.strava.com/oauth/revoke', clientAuth: 'basic' },
  refreshToken: { given: 'always', rotates: 'sometimes' },
  lifetime: 'access token 6 hours',
  review:
    'An app for more than ten athletes has to be submitted to Strava, which decides when it looks at it.',
  registration: 'https://www.strava.com/settings/api',
  register: [
    'Subscribe to Strava: without a subscription no app can be created. Then fill in the form.',
    'Authorization Callback Domain: the host of the redirect URI below, without https:// and path.',
  ],
  traps: [
    '`STRAVA_SCOPE` takes commas between scopes: `read,activity:read`.',
    'Users may untick scopes: the app has to look at the granted ones.',
    'A new app admits only its owner. Raise the limit to ten athletes yourself in the settings of the app.',
  ],
  sources: [
    'https://docs.tryterra.co/help-center/help-topics/connecting/getting-a-provider-developer-app-approved/strava-production-app-and-athlete-limit.md',
    'https://github.com/the-momentum/open-wearables/pull/1320',
    'https://developers.strava.com/docs/authentication/',
    'https://code.dblock.org/2018/11/17/dealing-with-strava-api-token-migration.html',
    'https://developers.strava.com/docs/getting-started/',
  ],
  checked: '2026-11-22',
  unverified: {
    PKCE: 'its documentation does not mention PKCE, while Auth.js sends it',
    revocation: 'older copies of its documentation name only /oauth/deauthorize',
  },
};
