import type { Profile } from '../profile.ts';

export const hue: Profile = {
  displayName: 'Philips Hue',
  authorizeUrl: 'https://api.meethue.com/v2/oauth2/authorize',
  tokenUrl: 'https://api.meethue.com/v2/oauth2/token',
  pkce: 'none',
  clientAuth: 'basic',
  refreshToken: 'yes',
  unverified: ['PKCE', 'lifetime'],
};
