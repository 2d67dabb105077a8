import type { Profile } from '../profile.ts';

export const putio: Profile = {
  displayName: 'put.io',
  authorizeUrl: 'https://api.put.io/v2/oauth2/authenticate',
  tokenUrl: 'https://api.put.io/v2/oauth2/access_token',
  pkce: 'none',
  refreshToken: 'never',
  lifetime: 'until the user revokes it',
  deviceFlow:
    'Its own: the app asks for a code at https://api.put.io/v2/oauth2/oob/code, the user enters it at https://put.io/link',
  registration: 'https://app.put.io/oauth',
  register: ['Create an app.', 'Callback URL: the redirect URI below.'],
  traps: ['It has no scopes: every token reads and deletes all of the account.'],
  sources: [
    'https://put.io/v2/docs/gettingstarted.html',
    'https://github.com/rclone/rclone/blob/master/backend/putio/putio.go',
    'https://github.com/putdotio/putio-sdk-swift',
  ],
  checked: '2026-11-24',
  unverified: {
    'token request': 'its guide shows a query, rclone sends a form',
    lifetime: 'its responses have no `expires_in`',
    scope: 'its guide names none',
  },
};
