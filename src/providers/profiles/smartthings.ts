import type { Profile } from '../profile.ts';

export const smartthings: Profile = {
  displayName: 'SmartThings',
  authorizeUrl: 'https://api.smartthings.com/v1/oauth/authorize',
  tokenUrl: 'https://api.smartthings.com/v1/oauth/token',
  pkce: 'none',
  clientAuth: 'basic',
  scope: 'r:devices:*',
  refreshToken: 'yes',
  unverified: ['PKCE'],
};
