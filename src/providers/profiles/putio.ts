import type { Profile } from '../profile.ts';

export const putio: Profile = {
  displayName: 'put.io',
  authorizeUrl: 'https://api.put.io/v2/oauth2/authenticate',
  tokenUrl: 'https://api.put.io/v2/oauth2/access_token',
  pkce: 'none',
  refreshToken: 'never',
  hasDeviceFlow: true,
  unverified: ['token request', 'lifetime', 'scope'],
};
