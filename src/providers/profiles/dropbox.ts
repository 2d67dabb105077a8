import type { Profile } from '../profile.ts';

export const dropbox: Profile = {
  displayName: 'Dropbox',
  authorizeUrl: 'https://www.dropbox.com/oauth2/authorize',
  tokenUrl: 'https://api.dropboxapi.com/oauth2/token',
  pkce: 'S256',
  clientAuth: 'post',
  clientSecret: 'optional',
  scope: 'account_info.read',
  authorizeParams: { token_access_type: 'offline' },
  revocation: {
    url: 'https://api.dropboxapi.com/2/auth/token/revoke',
    takes: 'access tokens',
    tokenIn: 'bearer',
  },
  refreshToken: 'with the parameters above',
  rotates: 'no',
  lifetime: 'access token 4 hours, refresh token until it is revoked',
  refusedRedirects: ['http'],
  review: 'Before an app has many users Dropbox has to approve it for production.',
  registration: 'https://www.dropbox.com/developers/apps',
  register: [
    'Choose Create app, scoped access.',
    'Permissions: tick what the app asks for, and submit.',
    'Redirect URIs: the redirect URI below. The app key is the client id.',
  ],
  traps: [
    'Without `token_access_type=offline` it gives no refresh token.',
    'An app may ask only for the scopes that are ticked under Permissions.',
  ],
  metadata: 'https://www.dropbox.com/.well-known/openid-configuration',
  sources: [
    'https://www.dropbox.com/developers/documentation/http/documentation',
    'https://www.withone.ai/knowledge/dropbox/conn_mod_def%3A%3AGJ2YUUHIX-4%3A%3A48cI2bQ6SF6D8HUugOCQsw',
    'https://www.dropbox.com/lp/developers/reference/oauth-guide',
    'https://github.com/nextauthjs/next-auth/blob/main/packages/core/src/providers/dropbox.ts',
    'https://dropbox.tech/developers/using-oauth-2-0-with-offline-access',
    'https://www.dropbox.com/developers/reference/developer-guide',
  ],
  checked: '2026-11-22',
};
