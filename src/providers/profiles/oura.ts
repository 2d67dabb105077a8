import type { Profile } from '../profile.ts';

export const oura: Profile = {
  displayName: 'Oura',
  authorizeUrl: 'https://moi.ouraring.com/oauth/v2/ext/oauth-authorize',
  tokenUrl: 'https://moi.ouraring.com/oauth/v2/ext/oauth-token',
  pkce: 'none',
  scope: 'extapi:personal extapi:daily',
  refreshToken: { given: 'always', rotates: 'yes' },
  lifetime: 'access token 24 hours',
  review: 'Until Oura has approved an app, ten users can sign in.',
  registration: 'https://developer.ouraring.com/applications',
  register: ['Create an application.', 'Redirect URIs: the redirect URI below.'],
  traps: [
    'Apps of the older portal, cloud.ouraring.com, may have the older endpoints and scopes: set `OURA_AUTHORIZE_URL=https://cloud.ouraring.com/oauth/authorize`, `OURA_TOKEN_URL=https://api.ouraring.com/oauth/token` and `OURA_SCOPE=personal daily`.',
    'Users may untick scopes: the app has to look at what it gets.',
    'Without a membership of the user the API answers 403.',
  ],
  sources: [
    'https://github.com/louispires/Oura-Home-Assistant-Integration/issues/68',
    'https://github.com/louispires/Oura-Home-Assistant-Integration/pull/69',
    'https://cloud.ouraring.com/docs/authentication',
    'https://cloud.ouraring.com/docs/error-handling',
    'https://github.com/pokidyshev/oura-mcp',
  ],
  checked: '2026-11-24',
  unverified: {
    endpoints: 'users found them when new apps could not refresh; Oura’s own page names the older',
    scope: 'clients of the newer endpoints write extapi:, others do not',
    PKCE: 'its documentation does not mention PKCE',
  },
};
