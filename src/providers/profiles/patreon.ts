import type { Profile } from '../profile.ts';

export const patreon: Profile = {
  displayName: 'Patreon',
  authorizeUrl: 'https://www.patreon.com/oauth2/authorize',
  tokenUrl: 'https://www.patreon.com/api/oauth2/token',
  pkce: 'none',
  scope: 'identity',
  quirks: { userAgent: 'sign-in-relay' },
  userAgentNames: 'your app',
  removeAt: 'Settings, More, Connected Apps',
  refreshToken: { given: 'always', rotates: 'yes' },
  lifetime: 'access token about 1 month, as `expires_in` says',
  registration: 'https://www.patreon.com/portal/registration/register-clients',
  register: ['Choose Create Client, API version 2.', 'Redirect URIs: the redirect URI below.'],
  traps: [
    'Without a `User-Agent` of its own a request may get a page that asks whether it is a robot.',
    'Only a creator’s account can register a client.',
    'In 2021 a second sign-in of the same user ended the tokens of the first; whether it still does is unknown.',
  ],
  sources: [
    'https://docs.patreon.com/#oauth',
    'https://arcticjs.dev/providers/patreon',
    'https://www.patreondevelopers.com/t/creators-access-token/9306',
    'https://github.com/simov/grant/issues/151',
    'https://github.com/IamWarHead/ddb-game-log/issues/26',
  ],
  checked: '2026-11-24',
  unverified: {
    PKCE: 'its documentation does not mention PKCE, while Auth.js sends it',
    lifetime: 'users report a month, the documentation names no time',
    registration: 'what was read says only that it is in the portal for developers',
  },
};
