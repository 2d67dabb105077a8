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
  refreshToken: 'always',
  rotates: 'sometimes',
  lifetime: 'access token 1 hour, refresh token 6 months from the sign-in',
  deviceFlow: 'none',
  registration: 'https://developer.spotify.com/dashboard',
  register: [
    'Choose Create app, and Web API.',
    'Redirect URIs: the redirect URI below.',
    'User Management: add each user, up to five, while the app is in development mode.',
  ],
  traps: [
    'It refuses `localhost`. For a relay on your own machine write `http://127.0.0.1:8080` in `OAUTH_BASE_URL`. Everything else must be https.',
    'In development mode the owner needs Premium, and only five users can sign in.',
    'Refreshing does not prolong the six months: after them the user signs in again.',
    'Without a secret (only PKCE) a refresh token works once, and each refresh gives the next.',
  ],
  evidence: {
    readOn: '2026-11-21',
    sources: {
      'https://www.howtogeek.com/325675/how-to-revoke-third-party-app-permissions-from-spotify/': [
        'removeAt',
      ],
      'https://github.com/golang/oauth2/blob/master/endpoints/endpoints.go': [
        'authorizeUrl',
        'tokenUrl',
      ],
      'https://github.com/nextauthjs/next-auth/blob/main/packages/core/src/providers/spotify.ts': [
        'authorizeUrl',
        'scope',
      ],
      'https://developer.spotify.com/documentation/web-api/tutorials/refreshing-tokens': [
        'tokenUrl',
        'clientAuth',
        'clientSecret',
        'refreshToken',
        'rotates',
        'lifetime',
        'trap 3',
      ],
      'https://developer.spotify.com/blog/2025-02-12-increasing-the-security-requirements-for-integrating-with-spotify':
        ['pkce'],
      'https://github.com/python-social-auth/social-core/blob/master/social_core/backends/spotify.py':
        ['clientAuth'],
      'https://docs.rs/rspotifys/latest/rspotifys/struct.AuthCodePkceSpotify.html': [
        'rotates',
        'trap 4',
      ],
      'https://developer.spotify.com/documentation/web-api/concepts/redirect_uri': [
        'deviceFlow',
        'registration',
        'trap 1',
      ],
      'https://www.techzine.eu/news/devops/138608/spotify-puts-the-brakes-on-developer-mode-with-stricter-api-rules':
        ['trap 2'],
    },
  },
};
