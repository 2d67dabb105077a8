import type { Profile } from '../profile.ts';

export const simkl: Profile = {
  displayName: 'Simkl',
  authorizeUrl: 'https://simkl.com/oauth/authorize',
  tokenUrl: 'https://api.simkl.com/oauth/token',
  pkce: 'none',
  quirks: { userAgent: 'sign-in-relay', clientIdHeader: 'simkl-api-key' },
  userAgentNames: 'your app and its version',
  removeAt: 'https://simkl.com/settings/connected-apps/',
  refreshToken: 'never',
  lifetime: 'access token 5 years',
  deviceFlow: 'Its own PIN flow, not RFC 8628: https://api.simkl.org/api-reference/pin',
  registration: 'https://simkl.com/settings/developer/',
  register: ['Create an app.', 'Redirect URI: the redirect URI below, to the letter.'],
  traps: [
    'Its reference requires `app-name` and `app-version` in the query of token requests, while its page on libraries says that they work without. To send them, set `SIMKL_TOKEN_URL=https://api.simkl.com/oauth/token?app-name=…&app-version=…`, and `SIMKL_AUTHORIZE_PARAMS=app-name=…&app-version=…`.',
    'It takes either a client secret or PKCE, not both. To go without a secret, leave `SIMKL_CLIENT_SECRET` unset and set `SIMKL_PKCE=S256`.',
    'Users sign in at simkl.com, tokens come from api.simkl.com: the two are easily mixed up.',
  ],
  sources: [
    'https://api.simkl.org/api-reference/oauth-libraries',
    'https://api.simkl.org/api-reference/simkl/exchange-token',
    'https://api.simkl.org/authentication',
    'https://api.simkl.org/api-reference/simkl/get-pin',
    'https://api.simkl.org/api-reference/oauth-pkce',
  ],
  checked: '2026-11-24',
};
