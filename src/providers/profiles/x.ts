import type { Profile } from '../profile.ts';

export const x: Profile = {
  displayName: 'X',
  authorizeUrl: 'https://x.com/i/oauth2/authorize',
  tokenUrl: 'https://api.x.com/2/oauth2/token',
  pkce: 'S256',
  clientAuth: 'basic',
  clientSecret: 'optional',
  scope: 'tweet.read users.read offline.access',
  refusals: [
    {
      means: 'invalid_grant',
      grant: 'refresh',
      status: 400,
      body: {
        error: 'invalid_request',
        error_description: 'Value passed for the token was invalid.',
      },
    },
  ],
  revocation: { url: 'https://api.x.com/2/oauth2/revoke' },
  refreshToken: 'yes',
};
