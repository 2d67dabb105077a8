import type { Profile } from '../profile.ts';

export const oura: Profile = {
  displayName: 'Oura',
  authorizeUrl: 'https://cloud.ouraring.com/oauth/authorize',
  tokenUrl: 'https://api.ouraring.com/oauth/token',
  pkce: 'none',
  scope: 'personal daily',
  refreshToken: { given: 'always', rotates: 'yes' },
  lifetime: 'access token 24 hours',
  registration: 'https://cloud.ouraring.com/oauth/applications',
  register: ['Create an application.', 'Redirect URIs: the redirect URI below.'],
  traps: [
    'Users may untick scopes: the app has to look at what it gets.',
    'Without a membership of the user the API answers 403.',
    'Its revocation endpoint takes the token in the query, where proxies log it. The relay does not use it.',
  ],
  sources: [
    'https://cloud.ouraring.com/docs/authentication',
    'https://github.com/pokidyshev/oura-mcp',
    'https://github.com/NangoHQ/nango/blob/master/packages/providers/providers.yaml',
  ],
  checked: '2026-11-24',
  unverified: { rotation: 'clients say that a refresh token works once' },
};
