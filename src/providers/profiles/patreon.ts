import type { Profile } from '../profile.ts';

export const patreon: Profile = {
  displayName: 'Patreon',
  authorizeUrl: 'https://www.patreon.com/oauth2/authorize',
  tokenUrl: 'https://www.patreon.com/api/oauth2/token',
  pkce: 'none',
  scope: 'identity',
  userAgentNames: 'your app',
  revocation: { url: 'https://www.patreon.com/oauth2/revoke' },
  removeAt: 'Settings, More, Connected Apps',
  refreshToken: 'yes',
  unverified: ['PKCE', 'lifetime', 'revocation', 'registration'],
};
