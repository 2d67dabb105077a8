import type { Profile } from '../profile.ts';

export const homeassistant: Profile = {
  displayName: 'Home Assistant',
  authorizeUrl: '[url]/auth/authorize',
  tokenUrl: '[url]/auth/token',
  pkce: 'none',
  clientSecret: 'none',
  revocation: { url: '[url]/auth/revoke', clientAuth: 'none' },
  refreshToken: 'yes',
};
