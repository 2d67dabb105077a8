import type { Profile } from '../profile.ts';

export const epicgames: Profile = {
  displayName: 'Epic Games',
  authorizeUrl: 'https://www.epicgames.com/id/authorize',
  tokenUrl: 'https://api.epicgames.dev/epic/oauth/v2/token',
  pkce: 'none',
  clientAuth: 'basic',
  scope: 'basic_profile',
  revocation: { url: 'https://api.epicgames.dev/epic/oauth/v2/revoke' },
  refreshToken: 'yes',
  hasDeviceFlow: true,
  unverified: [
    'refresh token',
    'rotation',
    'lifetime',
    'revocation',
    'registration',
    'device flow',
  ],
};
