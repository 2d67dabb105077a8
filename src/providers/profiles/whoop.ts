import type { Profile } from '../profile.ts';

export const whoop: Profile = {
  displayName: 'WHOOP',
  authorizeUrl: 'https://api.prod.whoop.com/oauth/oauth2/auth',
  tokenUrl: 'https://api.prod.whoop.com/oauth/oauth2/token',
  pkce: 'none',
  scope: 'read:profile offline',
  revocation: {
    url: 'https://api.prod.whoop.com/developer/v2/user/access',
    takes: 'access tokens',
    method: 'DELETE',
    tokenIn: 'bearer',
  },
  refreshToken: 'yes',
  unverified: ['PKCE', 'revocation', 'registration'],
};
