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
  refreshToken: { given: 'with the scope above', rotates: 'yes' },
  lifetime: 'access token 1 hour',
  registration: 'https://developer-dashboard.whoop.com',
  register: ['Create an app.', 'Redirect URLs: the redirect URI below.'],
  traps: [
    'Its tutorials send `scope=offline` with a refresh; the relay sends the scope only if the device does.',
  ],
  sources: [
    'https://developer.whoop.com/docs/developing/oauth',
    'https://developer.whoop.com/docs/tutorials/refresh-token-javascript',
    'https://github.com/NangoHQ/nango/blob/master/docs/integrations/all/whoop.mdx',
  ],
  checked: '2026-11-24',
  unverified: {
    PKCE: 'its guide was read in part, without a word of it',
    revocation: 'clients name it; the page of the API was not read',
    registration: 'the dashboard was not seen',
  },
};
