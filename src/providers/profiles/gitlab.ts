import type { Profile } from '../profile.ts';

export const gitlab: Profile = {
  displayName: 'GitLab',
  authorizeUrl: '[url]/oauth/authorize',
  tokenUrl: '[url]/oauth/token',
  defaultUrl: 'https://gitlab.com',
  pkce: 'S256',
  clientSecret: 'optional',
  scope: 'read_user',
  quirks: { refreshesWithRedirectUri: true },
  revocation: { url: '[url]/oauth/revoke' },
  refreshToken: 'yes',
  hasDeviceFlow: true,
};
