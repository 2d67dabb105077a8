import type { Profile } from '../profile.ts';

export const mastodon: Profile = {
  displayName: 'Mastodon',
  authorizeUrl: '[url]/oauth/authorize',
  tokenUrl: '[url]/oauth/token',
  pkce: 'S256',
  scope: 'read',
  revocation: { url: '[url]/oauth/revoke', takes: 'access tokens' },
  refreshToken: 'never',
  unverified: ['registration'],
};
