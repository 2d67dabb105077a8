import type { Profile } from '../profile.ts';

export const vimeo: Profile = {
  displayName: 'Vimeo',
  authorizeUrl: 'https://api.vimeo.com/oauth/authorize',
  tokenUrl: 'https://api.vimeo.com/oauth/access_token',
  pkce: 'none',
  clientAuth: 'basic',
  scope: 'public',
  revocation: {
    url: 'https://api.vimeo.com/tokens',
    takes: 'access tokens',
    method: 'DELETE',
    tokenIn: 'bearer',
  },
  refreshToken: 'never',
  lifetime: 'until the user revokes it',
  deviceFlow:
    'Its Java SDK asks for codes at https://api.vimeo.com/oauth/device, and exchanges them at https://api.vimeo.com/oauth/device/authorize',
  registration: 'https://developer.vimeo.com/apps',
  register: ['Choose Create an app.', 'Your callback URLs: the redirect URI below.'],
  traps: ['The granted scopes may be fewer than those asked for.'],
  sources: [
    'https://web-archive.nli.org.il/National_Library/20181105034639mp_/https://developer.vimeo.com/api/endpoints/authenticationextras',
    'https://developer.vimeo.com/api/authentication',
    'https://github.com/vimeo/vimeo-networking-java/blob/main/auth/src/main/java/com/vimeo/networking2/internal/AuthService.kt',
    'https://github.com/SocialiteProviders/Providers/blob/master/src/Vimeo/Provider.php',
  ],
  checked: '2026-11-22',
  unverified: {
    lifetime: 'its documentation says until it expires or is revoked, and names no time',
    'device flow':
      'the SDK was last changed in 2023, and whether apps of others may use it is not said',
  },
};
