import type { Profile } from '../profile.ts';

export const roblox: Profile = {
  displayName: 'Roblox',
  authorizeUrl: 'https://apis.roblox.com/oauth/v1/authorize',
  tokenUrl: 'https://apis.roblox.com/oauth/v1/token',
  pkce: 'S256',
  clientSecret: 'optional',
  scope: 'openid profile',
  revocation: { url: 'https://apis.roblox.com/oauth/v1/token/revoke' },
  refreshToken: 'yes',
  refusedRedirects: ['http'],
  unverified: ['PKCE'],
};
