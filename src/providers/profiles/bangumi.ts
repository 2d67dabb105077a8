import type { Profile } from '../profile.ts';

export const bangumi: Profile = {
  displayName: 'Bangumi',
  authorizeUrl: 'https://bgm.tv/oauth/authorize',
  tokenUrl: 'https://bgm.tv/oauth/access_token',
  pkce: 'none',
  clientAuth: 'post',
  clientSecret: 'required',
  quirks: { userAgent: 'sign-in-relay', refreshesWithRedirectUri: true },
  userAgentNames: 'you and your app, as in `sai/my-private-project`',
  refreshToken: 'always',
  rotates: 'yes',
  lifetime: 'access token 7 days',
  deviceFlow: 'none',
  responses: ['`scope` is `null`'],
  registration: 'https://bgm.tv/dev/app',
  register: ['Create an app (创建应用).', 'Callback URL (回调地址): the redirect URI below.'],
  traps: [
    'A code is valid for 60 seconds.',
    'It may block the default user agents of HTTP libraries.',
  ],
  evidence: {
    checked: { on: '2026-11-21', by: 'stored copies' },
    sources: {
      'https://github.com/bangumi/api/blob/master/docs-raw/How-to-Auth.md': [
        'authorizeUrl',
        'tokenUrl',
        'pkce',
        'clientAuth',
        'clientSecret',
        'scope',
        'refreshToken',
        'rotates',
        'lifetime',
        'deviceFlow',
        'refreshesWithRedirectUri',
        'registration',
        'response 1',
        'trap 1',
      ],
      'https://github.com/bangumi/api/blob/master/docs-raw/user%20agent.md': [
        'userAgent',
        'trap 2',
      ],
    },
  },
};
