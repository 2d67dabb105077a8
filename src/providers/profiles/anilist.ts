import type { Profile } from '../profile.ts';

export const anilist: Profile = {
  displayName: 'AniList',
  authorizeUrl: 'https://anilist.co/api/v2/oauth/authorize',
  tokenUrl: 'https://anilist.co/api/v2/oauth/token',
  pkce: 'none',
  removeAt: 'https://anilist.co/settings/apps',
  refreshToken: 'never',
};
