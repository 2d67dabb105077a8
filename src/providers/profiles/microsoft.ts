import type { Profile } from '../profile.ts';

export const microsoft: Profile = {
  displayName: 'Microsoft',
  authorizeUrl: 'https://login.microsoftonline.com/common/oauth2/v2.0/authorize',
  tokenUrl: 'https://login.microsoftonline.com/common/oauth2/v2.0/token',
  pkce: 'S256',
  scope: 'openid profile offline_access User.Read',
  removeAt: 'https://account.live.com/consent/Manage',
  refreshToken: 'yes',
  hasDeviceFlow: true,
  refusedRedirects: ['loopback', 'http'],
};
