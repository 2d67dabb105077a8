import type { Profile } from '../profile.ts';

export const anilist: Profile = {
  displayName: 'AniList',
  authorizeUrl: 'https://anilist.co/api/v2/oauth/authorize',
  tokenUrl: 'https://anilist.co/api/v2/oauth/token',
  pkce: 'none',
  removeAt: 'https://anilist.co/settings/apps',
  refreshToken: 'never',
  lifetime: 'access token 1 year',
  registration: 'https://anilist.co/settings/developer',
  register: ['Choose Create New Application.', 'Redirect URL: the redirect URI below.'],
  traps: ['An application cannot be deleted.'],
  sources: [
    'https://github.com/MALSync/MALSync/issues/280',
    'https://docs.anilist.co/guide/auth/authorization-code',
    'https://docs.anilist.co/guide/auth/',
  ],
  checked: '2026-11-22',
};
