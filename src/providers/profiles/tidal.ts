import type { Profile } from '../profile.ts';

export const tidal: Profile = {
  displayName: 'TIDAL',
  authorizeUrl: 'https://login.tidal.com/authorize',
  tokenUrl: 'https://auth.tidal.com/v1/oauth2/token',
  pkce: 'S256',
  clientSecret: 'optional',
  scope: 'user.read',
  refreshToken: { given: 'sometimes', rotates: 'sometimes' },
  lifetime: 'access token 4 hours',
  deviceFlow:
    'RFC 8628, for apps of TIDAL itself only: https://github.com/tidal-music/tidal-sdk-web/tree/main/packages/auth',
  registration: 'https://developer.tidal.com/dashboard',
  register: ['Create an app.', 'Scopes: those that the app asks for.'],
  traps: [
    'Registered apps report that they get no refresh token, with and without a secret: their users sign in again after 4 hours.',
    'Apps that get one report lost sessions when they kept the first: store each new one.',
  ],
  sources: [
    'https://github.com/tidal-music/tidal-sdk-web/blob/main/packages/auth/src/auth/auth.ts',
    'https://github.com/tidal-music/tidal-sdk-web/issues/681',
    'https://github.com/J-M-PUNK/tideway/pull/160',
    'https://archive.ph/TGqMk',
    'https://archive.ph/2024.08.23-162753/https://developer.tidal.com/documentation/authorization/authorization-scopes',
  ],
  checked: '2026-11-24',
  unverified: {
    'refresh token': 'TIDAL’s own SDK expects one, users report none',
    lifetime: 'users report it',
    registration: 'what the dashboard asks was not seen',
    'client secret':
      'its SDK sends a secret only if it has one; whether an app of others may have none was not seen',
  },
};
