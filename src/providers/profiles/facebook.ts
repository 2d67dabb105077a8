import type { Profile } from '../profile.ts';

export const facebook: Profile = {
  displayName: 'Facebook',
  authorizeUrl: 'https://www.facebook.com/v26.0/dialog/oauth',
  tokenUrl: 'https://graph.facebook.com/v26.0/oauth/access_token',
  pkce: 'none',
  scope: 'public_profile',
  refreshToken: 'never',
  hasDeviceFlow: true,
  unverified: ['PKCE', 'scope', 'lifetime', 'who can sign in before the app is published'],
};
