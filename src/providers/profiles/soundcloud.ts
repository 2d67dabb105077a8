import type { Profile } from '../profile.ts';

export const soundcloud: Profile = {
  displayName: 'SoundCloud',
  authorizeUrl: 'https://secure.soundcloud.com/authorize',
  tokenUrl: 'https://secure.soundcloud.com/oauth/token',
  pkce: 'S256',
  revocation: {
    url: 'https://secure.soundcloud.com/sign-out',
    takes: 'access tokens',
    clientAuth: 'none',
    tokenIn: 'access_token',
    body: 'json',
  },
  refreshToken: { given: 'always', rotates: 'yes' },
  lifetime: 'access token 1 hour',
  deviceFlow: 'Its own tool pairs with a code at https://secure.soundcloud.com/activate',
  registration: 'https://soundcloud.com/you/apps',
  register: ['Register an app. SoundCloud may want to be asked first.'],
  traps: [
    'PKCE is required since October 2024. The endpoints at api.soundcloud.com no longer work.',
    'The app sends its token as `Authorization: OAuth …`, not as `Bearer`.',
  ],
  sources: [
    'https://twin-paws.github.io/soundcloud-api-ts/classes/SoundCloudClient.Auth.html',
    'https://developers.soundcloud.com/docs/api/guide',
    'https://github.com/soundcloud/api/issues/328',
    'https://raw.githubusercontent.com/soundcloud/api/master/scripts/sc-api-auth.mjs',
    'https://github.com/soundcloud/api/issues/84',
  ],
  checked: '2026-11-22',
  unverified: {
    'client secret':
      'its guide sends one, while its own command-line tool exchanges with PKCE alone',
    scope: 'its guide names none, while a library still sends non-expiring',
    'device flow': 'the flow is in its tool and not in its guide',
  },
};
