import type { Profile } from '../profile.ts';

export const mal: Profile = {
  displayName: 'MyAnimeList',
  authorizeUrl: 'https://myanimelist.net/v1/oauth2/authorize',
  tokenUrl: 'https://myanimelist.net/v1/oauth2/token',
  pkce: 'plain',
  clientSecret: 'optional',
  refreshToken: 'yes',
};
