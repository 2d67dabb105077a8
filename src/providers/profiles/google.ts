import type { Profile } from '../profile.ts';

export const google: Profile = {
  displayName: 'Google',
  authorizeUrl: 'https://accounts.google.com/o/oauth2/v2/auth',
  tokenUrl: 'https://oauth2.googleapis.com/token',
  pkce: 'S256',
  scope: 'openid email profile',
  authorizeParams: { access_type: 'offline', prompt: 'consent' },
  revocation: { url: 'https://oauth2.googleapis.com/revoke', clientAuth: 'none' },
  refreshToken: 'yes',
  hasDeviceFlow: true,
  refusedRedirects: ['http', 'address', 'private'],
};
