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
  refreshToken: 'yes',
  refusedRedirects: ['localhost', 'http'],
};
