import type { Profile } from '../profile.ts';

export const kick: Profile = {
  displayName: 'Kick',
  authorizeUrl: 'https://id.kick.com/oauth/authorize',
  tokenUrl: 'https://id.kick.com/oauth/token',
  pkce: 'S256',
  scope: 'user:read',
  refreshToken: 'yes',
  refusedRedirects: ['loopback'],
};
