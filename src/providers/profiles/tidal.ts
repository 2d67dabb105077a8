import type { Profile } from '../profile.ts';

export const tidal: Profile = {
  displayName: 'TIDAL',
  authorizeUrl: 'https://login.tidal.com/authorize',
  tokenUrl: 'https://auth.tidal.com/v1/oauth2/token',
  pkce: 'S256',
  clientSecret: 'optional',
  scope: 'user.read',
  refreshToken: 'sometimes',
  hasDeviceFlow: true,
  unverified: ['refresh token', 'lifetime', 'registration', 'client secret'],
};
