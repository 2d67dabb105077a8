import type { Profile } from '../profile.ts';

export const x: Profile = {
  displayName: 'X',
  authorizeUrl: 'https://x.com/i/oauth2/authorize',
  tokenUrl: 'https://api.x.com/2/oauth2/token',
  pkce: 'S256',
  clientAuth: 'basic',
  clientSecret: 'optional',
  scope: 'tweet.read users.read offline.access',
  revocation: { url: 'https://api.x.com/2/oauth2/revoke' },
  refreshToken: { given: 'with the scope above', rotates: 'yes' },
  lifetime: 'access token 2 hours',
  registration: 'https://developer.x.com/en/portal/dashboard',
  register: [
    'Create an app, then User authentication settings.',
    'Type of App: Web App, which gives a secret; Native App has none.',
    'Copy the OAuth 2.0 Client ID, not the API key.',
  ],
  traps: [
    'With a secret it accepts client authentication only by HTTP Basic.',
    'It was called Twitter: `PROVIDERS=x`, and settings begin with `X_`.',
  ],
  sources: [
    'https://docs.x.com/fundamentals/authentication/oauth-2-0/user-access-token',
    'https://docs.x.com/resources/fundamentals/authentication/oauth-2-0/authorization-code',
    'https://github.com/trypostit/trypost/issues/126',
  ],
  checked: '2026-11-22',
};
