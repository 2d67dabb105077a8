import type { Profile } from '../profile.ts';

export const nextcloud: Profile = {
  displayName: 'Nextcloud',
  authorizeUrl: '[url]/apps/oauth2/authorize',
  tokenUrl: '[url]/apps/oauth2/api/v1/token',
  pkce: 'S256',
  refusals: [
    {
      means: 'invalid_grant',
      grant: 'refresh',
      status: 400,
      body: { error: 'invalid_request' },
    },
  ],
  refreshToken: 'yes',
  hasDeviceFlow: true,
  unverified: ['PKCE', 'device flow'],
};
