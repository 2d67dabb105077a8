import type { Profile } from '../profile.ts';

export const anilist: Profile = {
  displayName: 'AniList',
  authorizeUrl: 'https://anilist.co/api/v2/oauth/authorize',
  tokenUrl: 'https://anilist.co/api/v2/oauth/token',
  pkce: 'none',
  clientAuth: 'post',
  clientSecret: 'required',
  removeAt: 'https://anilist.co/settings/apps',
  refreshToken: 'never',
  rotates: 'no refresh tokens',
  lifetime: 'access token 1 year',
  deviceFlow: 'none',
  registration: 'https://anilist.co/settings/developer',
  register: ['Choose Create New Application.', 'Redirect URL: the redirect URI below.'],
  traps: [
    'After a year the user signs in again: there is nothing to refresh.',
    'An application cannot be deleted.',
  ],
  evidence: {
    checked: { on: '2026-11-22', by: 'stored copies' },
    sources: {
      'https://github.com/MALSync/MALSync/issues/280': ['removeAt'],
      'https://docs.anilist.co/guide/auth/authorization-code': [
        'authorizeUrl',
        'tokenUrl',
        'pkce',
        'clientAuth',
        'clientSecret',
      ],
      'https://docs.anilist.co/guide/auth/': [
        'scope',
        'refreshToken',
        'rotates',
        'lifetime',
        'deviceFlow',
        'registration',
        'trap 1',
        'trap 2',
      ],
    },
  },
};
