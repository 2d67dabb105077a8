import type { Profile } from '../profile.ts';

export const annict: Profile = {
  displayName: 'Annict',
  authorizeUrl: 'https://api.annict.com/oauth/authorize',
  tokenUrl: 'https://api.annict.com/oauth/token',
  pkce: 'none',
  scope: 'read',
  revocation: { url: 'https://api.annict.com/oauth/revoke', takes: 'access tokens' },
  refreshToken: 'never',
  unverified: ['PKCE', 'host of the authorization endpoint'],
};
