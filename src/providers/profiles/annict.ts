import type { Profile } from '../profile.ts';

export const annict: Profile = {
  displayName: 'Annict',
  authorizeUrl: 'https://api.annict.com/oauth/authorize',
  tokenUrl: 'https://api.annict.com/oauth/token',
  pkce: 'none',
  scope: 'read',
  revocation: { url: 'https://api.annict.com/oauth/revoke', takes: 'access tokens' },
  refreshToken: 'never',
  lifetime: 'until it is revoked',
  registration: 'https://annict.com/oauth/applications',
  register: ['Create an application.', 'Redirect URI: the redirect URI below.'],
  traps: ['An app that records needs `ANNICT_SCOPE=read write`.'],
  sources: [
    'https://docs.annict.com/docs/ja/api/v1/authentication',
    'https://github.com/annict/annict/blob/main/config/initializers/doorkeeper.rb',
    'https://annict.wikihub.io/wiki/api/authentication',
  ],
  checked: '2026-11-24',
  unverified: {
    PKCE: 'its guide does not mention PKCE',
    'host of the authorization endpoint': 'its guide names only a path; clients use this one',
  },
};
