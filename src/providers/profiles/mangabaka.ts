import type { Profile } from '../profile.ts';

export const mangabaka: Profile = {
  displayName: 'MangaBaka',
  authorizeUrl: 'https://mangabaka.org/auth/oauth2/authorize',
  tokenUrl: 'https://mangabaka.org/auth/oauth2/token',
  pkce: 'S256',
  clientSecret: 'optional',
  scope: 'openid profile library.read offline_access',
  revocation: { url: 'https://mangabaka.org/auth/oauth2/revoke' },
  refreshToken: 'yes',
  unverified: [
    'the scope for a refresh token',
    'revocation',
    'rotation',
    'lifetime',
    'registration',
  ],
};
