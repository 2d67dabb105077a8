import type { Profile } from '../profile.ts';

export const epicgames: Profile = {
  displayName: 'Epic Games',
  authorizeUrl: 'https://www.epicgames.com/id/authorize',
  tokenUrl: 'https://api.epicgames.dev/epic/oauth/v2/token',
  pkce: 'none',
  clientAuth: 'basic',
  scope: 'basic_profile',
  revocation: { url: 'https://api.epicgames.dev/epic/oauth/v2/revoke' },
  refreshToken: { given: 'always', rotates: 'yes' },
  lifetime: 'access token 2 hours, refresh token 8 hours',
  deviceFlow:
    'Clients use https://api.epicgames.dev/epic/oauth/v2/deviceAuthorization, which takes a client id and is like RFC 8628',
  registration: 'https://dev.epicgames.com/portal',
  register: [
    'Create a product, then Epic Account Services: an application, its permissions and a client.',
  ],
  traps: [
    'A device that is off for a night has no valid token left. Users report that `EPICGAMES_SCOPE=basic_profile offline_access` makes the refresh token last.',
  ],
  sources: [
    'https://dev.epicgames.com/docs/web-api-ref/authentication',
    'https://github.com/SocialiteProviders/Providers/blob/master/src/EpicGames/Provider.php',
    'https://github.com/NangoHQ/nango/blob/master/docs/integrations/all/epic-games.mdx',
    'https://github.com/LeleDerGrasshalmi/FortniteEndpointsDocumentation/issues/398',
    'https://github.com/MixV2/EpicResearch/issues/130',
  ],
  checked: '2026-11-24',
  unverified: {
    'refresh token': 'its documentation says that some responses have none',
    rotation: 'no source says it',
    lifetime: 'users report that of the refresh token',
    revocation: 'clients name it; which authentication it wants was not read',
    registration: 'the portal was not seen',
    'device flow': 'its documentation was read in part, without it',
  },
};
