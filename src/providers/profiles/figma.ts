import type { Profile } from '../profile.ts';

export const figma: Profile = {
  displayName: 'Figma',
  authorizeUrl: 'https://www.figma.com/oauth',
  tokenUrl: 'https://api.figma.com/v1/oauth/token',
  refreshUrl: 'https://api.figma.com/v1/oauth/refresh',
  pkce: 'S256',
  clientAuth: 'basic',
  scope: 'current_user:read',
  refreshToken: 'yes',
  unverified: ['PKCE', 'refresh address', 'lifetime'],
};
