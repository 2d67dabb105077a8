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
  userAgentNames:
    'your platform, app, version and account, for example `web:tv.example:1.0 (by /u/you)`',
  // A wrong client gets a 401.
  refusals: [
    { means: 'invalid_grant', grant: 'refresh', status: 400, body: { error: 400 } },
    { means: 'invalid_grant', grant: 'refresh', status: 400, body: { error: 'invalid_request' } },
  ],
  revocation: { url: 'https://www.reddit.com/api/v1/revoke_token' },
  refreshToken: 'yes',
  unverified: ['rotation', 'lifetime', 'refused refreshes'],
};
