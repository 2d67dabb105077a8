import type { Profile } from '../profile.ts';

export const battlenet: Profile = {
  displayName: 'Battle.net',
  authorizeUrl: 'https://oauth.battle.net/authorize',
  tokenUrl: 'https://oauth.battle.net/token',
  pkce: 'none',
  scope: 'openid',
  refreshToken: { given: 'sometimes', rotates: 'sometimes' },
  lifetime: 'access token 24 hours',
  registration: 'https://develop.battle.net/access/clients',
  register: ['Choose Create Client.', 'Redirect URIs: the redirect URI below.'],
  traps: [
    'Characters need more scopes, such as `wow.profile`.',
    'China has its own endpoints, at oauth.battlenet.com.cn: set `BATTLENET_AUTHORIZE_URL` and `BATTLENET_TOKEN_URL`.',
  ],
  metadata: 'https://oauth.battle.net/.well-known/openid-configuration',
  sources: [
    'https://github.com/pilcrowonpaper/arctic/blob/main/src/providers/battlenet.ts',
    'https://search.r-project.org/CRAN/refmans/SC2API/html/authorization.html',
    'https://github.com/Blizzard/oauth-client-sample',
    'https://us.forums.blizzard.com/en/blizzard/t/how-to-retrieve-a-profile-access-token/5603',
    'https://github.com/nextauthjs/next-auth/blob/main/packages/core/src/providers/battlenet.ts',
  ],
  checked: '2026-11-24',
  unverified: {
    PKCE: 'no source of Blizzard was found; some clients send it',
    'refresh token':
      'a user reports one, and libraries disagree; Blizzard’s own pages could not be read',
    lifetime: 'the source speaks of tokens without a user',
  },
};
