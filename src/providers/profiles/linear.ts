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
  refreshToken: { given: 'always', rotates: 'yes' },
  lifetime: 'access token 24 hours',
  registration: 'https://linear.app/settings/api/applications/new',
  register: [
    'Create an OAuth application in a workspace of its own: each admin of it has access.',
    'Switch on Public, so that other workspaces can use it.',
  ],
  traps: ['`LINEAR_SCOPE` takes commas between scopes: `read,write`.'],
  sources: [
    'https://linear.app/developers/oauth-2-0-authentication',
    'https://docs.alterauth.com/providers/linear',
    'https://github.com/NangoHQ/nango/blob/master/docs/api-integrations/linear/how-to-register-your-own-linear-api-oauth-app.mdx',
  ],
  checked: '2026-11-24',
  unverified: {
    'client secret': 'whether PKCE suffices was not read',
    revocation: 'clients send the token in two ways, in the header and in the body',
  },
};
