import type { Profile } from '../profile.ts';

export const discord: Profile = {
  displayName: 'Discord',
  authorizeUrl: 'https://discord.com/api/oauth2/authorize',
  tokenUrl: 'https://discord.com/api/oauth2/token',
  pkce: 'S256',
  clientSecret: 'optional',
  scope: 'identify',
  revocation: { url: 'https://discord.com/api/oauth2/token/revoke' },
  refreshToken: 'yes',
  hasDeviceFlow: true,
};
