import type { Profile } from '../profile.ts';

export const box: Profile = {
  displayName: 'Box',
  authorizeUrl: 'https://account.box.com/api/oauth2/authorize',
  tokenUrl: 'https://api.box.com/oauth2/token',
  pkce: 'none',
  revocation: { url: 'https://api.box.com/oauth2/revoke' },
  refreshToken: 'yes',
  unverified: ['PKCE', 'registration'],
};
