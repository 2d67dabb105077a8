import type { Profile } from '../profile.ts';

export const dropbox: Profile = {
  displayName: 'Dropbox',
  authorizeUrl: 'https://www.dropbox.com/oauth2/authorize',
  tokenUrl: 'https://api.dropboxapi.com/oauth2/token',
  pkce: 'S256',
  clientSecret: 'optional',
  scope: 'account_info.read',
  authorizeParams: { token_access_type: 'offline' },
  revocation: {
    url: 'https://api.dropboxapi.com/2/auth/token/revoke',
    takes: 'access tokens',
    tokenIn: 'bearer',
  },
  refreshToken: 'yes',
  refusedRedirects: ['http'],
};
