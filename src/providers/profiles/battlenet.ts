import type { Profile } from '../profile.ts';

export const battlenet: Profile = {
  displayName: 'Battle.net',
  authorizeUrl: 'https://oauth.battle.net/authorize',
  tokenUrl: 'https://oauth.battle.net/token',
  pkce: 'none',
  clientAuth: 'post',
  clientSecret: 'required',
  scope: 'openid',
  refreshToken: 'never',
  lifetime: 'access token 24 hours',
  registration: 'https://develop.battle.net/access/clients',
  register: ['Choose Create Client.', 'Redirect URIs: the redirect URI below.'],
  traps: [
    'After a day the user signs in again: there is nothing to refresh.',
    'Characters need more scopes, such as `wow.profile`.',
    'China has its own endpoints, at oauth.battlenet.com.cn: set `BATTLENET_AUTHORIZE_URL` and `BATTLENET_TOKEN_URL`.',
  ],
  metadata: 'https://oauth.battle.net/.well-known/openid-configuration',
  sources: [
    'https://github.com/pilcrowonpaper/arctic/blob/main/src/providers/battlenet.ts',
    'https://arcticjs.dev/providers/battlenet',
    'https://search.r-project.org/CRAN/refmans/SC2API/html/authorization.html',
    'https://github.com/Blizzard/oauth-client-sample',
    'https://github.com/nextauthjs/next-auth/blob/main/packages/core/src/providers/battlenet.ts',
  ],
  checked: '2026-11-22',
  unverified: {
    PKCE: 'no source of Blizzard was found; some clients send it',
    'refresh token': 'libraries disagree; Blizzard’s own pages could not be read',
    lifetime: 'the source speaks of tokens without a user',
    'device flow': 'Blizzard’s own pages could not be read',
  },
};
