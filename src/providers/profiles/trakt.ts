import type { Profile } from '../profile.ts';

export const trakt: Profile = {
  displayName: 'Trakt',
  authorizeUrl: 'https://auth.trakt.tv/oauth/authorize',
  tokenUrl: 'https://auth.trakt.tv/oauth/token',
  pkce: 'S256',
  clientSecret: 'optional',
  quirks: {
    tokenRequest: 'json',
    clientIdHeader: 'trakt-api-key',
    refreshesWithRedirectUri: true,
  },
  userAgentNames: 'your app and its version',
  revocation: { url: 'https://auth.trakt.tv/oauth/revoke', takes: 'access tokens' },
  refreshToken: 'yes',
  hasDeviceFlow: true,
  unverified: ['PKCE', 'client secret'],
};
