import type { Profile } from '../profile.ts';

export const nextcloud: Profile = {
  displayName: 'Nextcloud',
  authorizeUrl: '[url]/apps/oauth2/authorize',
  tokenUrl: '[url]/apps/oauth2/api/v1/token',
  pkce: 'S256',
  refreshToken: 'yes',
  hasDeviceFlow: true,
  unverified: ['PKCE', 'device flow'],
};
