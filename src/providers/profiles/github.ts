import type { Profile } from '../profile.ts';

export const github: Profile = {
  displayName: 'GitHub',
  authorizeUrl: 'https://github.com/login/oauth/authorize',
  tokenUrl: 'https://github.com/login/oauth/access_token',
  pkce: 'S256',
  scope: 'read:user',
  quirks: { commaInScope: true },
  revocation: {
    url: 'https://api.github.com/applications/[client id]/token',
    takes: 'access tokens',
    method: 'DELETE',
    clientAuth: 'basic',
    tokenIn: 'access_token',
    body: 'json',
  },
  refreshToken: 'yes',
  hasDeviceFlow: true,
};
