import type { Profile } from '../profile.ts';

export const simkl: Profile = {
  displayName: 'Simkl',
  authorizeUrl: 'https://simkl.com/oauth/authorize',
  tokenUrl: 'https://api.simkl.com/oauth/token',
  pkce: 'none',
  clientAuth: 'post',
  clientSecret: 'required',
  quirks: { userAgent: 'sign-in-relay' },
  userAgentNames: 'your app and its version',
  removeAt: 'https://simkl.com/settings/connected-apps/',
  refreshToken: 'never',
  lifetime: 'access token 5 years',
  deviceFlow: 'Its own PIN flow, not RFC 8628: https://api.simkl.org/api-reference/pin',
  registration: 'https://simkl.com/settings/developer/',
  register: ['Create an app.', 'Redirect URI: the redirect URI below, to the letter.'],
  traps: [
    'It takes either a client secret or PKCE, not both. To go without a secret, leave `SIMKL_CLIENT_SECRET` unset and set `SIMKL_PKCE=S256`.',
    'Users sign in at simkl.com, tokens come from api.simkl.com: the two are easily mixed up.',
  ],
  sources: [
    'https://github.com/MALSync/MALSync/issues/280',
    'https://api.simkl.org/api-reference/oauth-libraries',
    'https://api.simkl.org/api-reference/simkl/exchange-token',
    'https://api.simkl.org/authentication',
    'https://api.simkl.org/api-reference/simkl/get-pin',
    'https://api.simkl.org/api-reference/oauth-pkce',
  ],
  checked: '2026-11-21',
};
