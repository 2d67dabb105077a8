import type { Profile } from '../profile.ts';

export const oura: Profile = {
  displayName: 'Oura',
  authorizeUrl: 'https://moi.ouraring.com/oauth/v2/ext/oauth-authorize',
  tokenUrl: 'https://moi.ouraring.com/oauth/v2/ext/oauth-token',
  pkce: 'none',
  scope: 'extapi:personal extapi:daily',
  refreshToken: 'yes',
  unverified: ['endpoints', 'scope', 'PKCE'],
};
