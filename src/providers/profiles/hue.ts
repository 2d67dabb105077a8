import type { Profile } from '../profile.ts';

export const hue: Profile = {
  displayName: 'Philips Hue',
  authorizeUrl: 'https://api.meethue.com/v2/oauth2/authorize',
  tokenUrl: 'https://api.meethue.com/v2/oauth2/token',
  pkce: 'none',
  clientAuth: 'basic',
  refreshToken: { given: 'always', rotates: 'yes' },
  lifetime: 'access token 7 days, refresh token 112 days',
  registration: 'https://developers.meethue.com/my-apps/',
  register: ['Create a Remote Hue API app.', 'Callback URL: the redirect URI below.'],
  traps: [
    'With a token alone nothing can be switched: the app also makes an application key, by pressing the link button remotely.',
    'At home an app can reach the bridge without any of this.',
  ],
  sources: [
    'https://github.com/peter-murray/node-hue-api',
    'https://github.com/n8n-io/n8n/pull/2631',
    'https://github.com/michielpost/Q42.HueApi/pull/260',
  ],
  checked: '2026-11-24',
  unverified: {
    PKCE: 'one client sends it, the others do not; Hue’s own page needs an account',
    lifetime: 'from the example of a client, of 2019',
  },
};
