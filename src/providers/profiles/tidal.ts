import type { Profile } from '../profile.ts';

export const tidal: Profile = {
  displayName: 'TIDAL',
  authorizeUrl: 'https://login.tidal.com/authorize',
  tokenUrl: 'https://auth.tidal.com/v1/oauth2/token',
  pkce: 'S256',
  clientAuth: 'post',
  clientSecret: 'optional',
  scope: 'user.read',
  refreshToken: 'always',
  rotates: 'no',
  lifetime: 'as `expires_in` says',
  deviceFlow:
    'RFC 8628, for apps of TIDAL itself only: https://github.com/tidal-music/tidal-sdk-web/tree/main/packages/auth',
  registration: 'https://developer.tidal.com/dashboard',
  register: [
    'Create an app.',
    'Redirect URIs: the redirect URI below.',
    'Scopes: those that the app asks for.',
  ],
  traps: ['A refresh gives no new refresh token: keep the first one.'],
  sources: [
    'https://github.com/tidal-music/tidal-sdk-web/blob/main/packages/auth/src/auth/auth.ts',
    'https://archive.ph/TGqMk',
    'https://archive.ph/2024.08.23-162753/https://developer.tidal.com/documentation/authorization/authorization-scopes',
  ],
  checked: '2026-11-22',
  unverified: {
    registration: 'what the dashboard asks was not seen',
    'client secret':
      'its SDK sends a secret only if it has one; whether an app of others may have none was not seen',
  },
};
