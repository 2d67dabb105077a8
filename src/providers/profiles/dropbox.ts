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
  refreshToken: { given: 'with the parameters above', rotates: 'no' },
  lifetime: 'access token 4 hours, refresh token until it is revoked',
  refusedRedirects: ['http'],
  review: 'Before an app has many users Dropbox has to approve it for production.',
  registration: 'https://www.dropbox.com/developers/apps',
  register: [
    'Choose Create app, scoped access.',
    'Permissions: tick what the app asks for, and submit.',
    'The app key is the client id.',
  ],
  traps: ['An app may ask only for the scopes that are ticked under Permissions.'],
  metadata: 'https://www.dropbox.com/.well-known/openid-configuration',
  sources: [
    'https://www.dropbox.com/developers/documentation/http/documentation',
    'https://www.dropbox.com/lp/developers/reference/oauth-guide',
    'https://www.dropbox.com/developers/reference/developer-guide',
  ],
  checked: '2026-11-22',
};
