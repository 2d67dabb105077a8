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
  hasDeviceFlow: true,
  unverified: ['lifetime', 'device flow'],
};
