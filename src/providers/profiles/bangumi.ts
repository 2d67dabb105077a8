import type { Profile } from '../profile.ts';

export const bangumi: Profile = {
  displayName: 'Bangumi',
  authorizeUrl: 'https://bgm.tv/oauth/authorize',
  tokenUrl: 'https://bgm.tv/oauth/access_token',
  pkce: 'none',
  quirks: { userAgent: 'sign-in-relay', refreshesWithRedirectUri: true },
  userAgentNames: 'you and your app, as in `sai/my-private-project`',
  refreshToken: { given: 'always', rotates: 'yes' },
  lifetime: 'access token 7 days',
  registration: 'https://bgm.tv/dev/app',
  register: ['Create an app (创建应用).', 'Callback URL (回调地址): the redirect URI below.'],
  traps: [
    'A code is valid for 60 seconds.',
    'It may block the default user agents of HTTP libraries.',
  ],
  sources: [
    'https://github.com/bangumi/api/blob/master/docs-raw/How-to-Auth.md',
    'https://github.com/bangumi/api/blob/master/docs-raw/user%20agent.md',
  ],
  checked: '2026-11-21',
};
