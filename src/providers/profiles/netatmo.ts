import type { Profile } from '../profile.ts';

export const netatmo: Profile = {
  displayName: 'Netatmo',
  authorizeUrl: 'https://api.netatmo.com/oauth2/authorize',
  tokenUrl: 'https://api.netatmo.com/oauth2/token',
  pkce: 'none',
  scope: 'read_station',
  refreshToken: 'yes',
  unverified: ['PKCE'],
};
