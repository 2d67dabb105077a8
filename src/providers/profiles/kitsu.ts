import type { Profile } from '../profile.ts';

export const kitsu: Profile = {
  displayName: 'Kitsu',
  authorizeUrl: 'https://kitsu.app/api/oauth/authorize',
  tokenUrl: 'https://kitsu.app/api/oauth/token',
  pkce: 'none',
  clientAuth: 'post',
  clientSecret: 'required',
  refreshToken: 'always',
  rotates: 'yes',
  lifetime: 'access token 30 days',
  deviceFlow: 'none',
  registration: 'https://kitsu.app/api/oauth/applications',
  register: ['Ask Kitsu for a client of your own that may use the authorization code grant.'],
  traps: [
    'The documented grant is the password grant, which the relay does not use: a sign-in probably fails unless Kitsu has enabled the authorization code grant for your client.',
  ],
  evidence: {
    readOn: '2026-11-21',
    sources: {
      'https://github.com/hummingbird-me/kitsu-server/blob/the-future/config/initializers/doorkeeper.rb':
        ['authorizeUrl', 'scope', 'refreshToken', 'lifetime', 'trap 1'],
      'https://hummingbird-me.github.io/api-docs/': [
        'tokenUrl',
        'pkce',
        'clientAuth',
        'clientSecret',
        'rotates',
        'lifetime',
        'deviceFlow',
        'registration',
        'trap 1',
      ],
    },
    unverified: {
      authorizeUrl:
        'its documentation and its published server have only the password grant, while some apps use an authorization endpoint',
      tokenUrl: 'its documentation says kitsu.io, current apps say kitsu.app',
      pkce: 'its documentation does not mention PKCE',
      clientAuth:
        'its documentation and its published server have only the password grant, while some apps use an authorization endpoint',
      clientSecret: 'apps cannot be registered yet',
      rotates: 'its documentation shows one response for both grants',
      registration: 'its documentation says that apps cannot be registered yet',
    },
  },
};
