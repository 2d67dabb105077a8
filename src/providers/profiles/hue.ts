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
    'https://github.com/jkniest/hue-it/blob/master/src/PhillipsHueCloud.php',
  ],
  checked: '2026-11-24',
  unverified: {
    endpoints: 'Hue’s own page needs an account; several clients name them',
    PKCE: 'one client sends it, the others do not',
    lifetime: 'from the example of a client, of 2019',
  },
};
