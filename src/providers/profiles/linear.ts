import type { Profile } from '../profile.ts';

export const linear: Profile = {
  displayName: 'Linear',
  authorizeUrl: 'https://linear.app/oauth/authorize',
  tokenUrl: 'https://api.linear.app/oauth/token',
  pkce: 'S256',
  scope: 'read',
  scopeSeparator: ',',
  revocation: {
    url: 'https://api.linear.app/oauth/revoke',
    takes: 'access tokens',
    tokenIn: 'bearer',
  },
  refreshToken: 'yes',
  unverified: ['PKCE', 'client secret', 'revocation'],
};
