import type { Profile } from '../profile.ts';

export const spotify: Profile = {
  displayName: 'Spotify',
  authorizeUrl: 'https://accounts.spotify.com/authorize',
  tokenUrl: 'https://accounts.spotify.com/api/token',
  pkce: 'S256',
  clientAuth: 'basic',
  clientSecret: 'optional',
  scope: 'user-read-email',
  removeAt: 'https://www.spotify.com/account/apps/',
  refreshToken: { given: 'always', rotates: 'sometimes' },
  lifetime: 'access token 1 hour, refresh token 6 months from the sign-in',
  refusedRedirects: ['localhost', 'http'],
  review:
    'In development mode, in which each app begins, five users can sign in, each of whom the owner lists; the owner needs Premium. More are for organizations: since May 2025 Spotify asks for a registered business with 250,000 users a month.',
  registration: 'https://developer.spotify.com/dashboard',
  register: [
    'Choose Create app, and Web API.',
    'User Management: add each user, up to five, while the app is in development mode.',
  ],
  traps: [
    'Refreshing does not prolong the six months: after them the user signs in again.',
    'Without a secret (only PKCE) a refresh token works once, and each refresh gives the next.',
  ],
  sources: [
    'https://www.howtogeek.com/325675/how-to-revoke-third-party-app-permissions-from-spotify/',
    'https://developer.spotify.com/documentation/web-api/tutorials/refreshing-tokens',
    'https://developer.spotify.com/blog/2025-02-12-increasing-the-security-requirements-for-integrating-with-spotify',
    'https://developer.spotify.com/documentation/web-api/concepts/redirect_uri',
    'https://github.com/spotify/spotify-web-api-ts-sdk/issues/159',
  ],
  checked: '2026-11-22',
};
