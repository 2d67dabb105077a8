import type { Profile } from '../profile.ts';

export const soundcloud: Profile = {
  displayName: 'SoundCloud',
  authorizeUrl: 'https://secure.soundcloud.com/authorize',
  tokenUrl: 'https://secure.soundcloud.com/oauth/token',
  pkce: 'S256',
  clientAuth: 'post',
  clientSecret: 'required',
  revocation: {
    url: 'https://secure.soundcloud.com/sign-out',
    takes: 'access tokens',
    clientAuth: 'none',
    tokenIn: 'access_token',
    body: 'json',
  },
  refreshToken: 'always',
  rotates: 'yes',
  lifetime: 'access token 1 hour',
  deviceFlow: 'Its own tool pairs with a code at https://secure.soundcloud.com/activate',
  registration: 'https://soundcloud.com/you/apps',
  register: [
    'Register an app. SoundCloud may want to be asked first.',
    'Redirect URI: the redirect URI below.',
  ],
  traps: [
    'PKCE is required since October 2024. The endpoints at api.soundcloud.com no longer work.',
    'A refresh token works once. Store the new one before you refresh again.',
    'The app sends its token as `Authorization: OAuth …`, not as `Bearer`.',
  ],
  evidence: {
    checked: { on: '2026-11-22', by: 'stored copies' },
    sources: {
      'https://twin-paws.github.io/soundcloud-api-ts/classes/SoundCloudClient.Auth.html': [
        'revocation',
      ],
      'https://developers.soundcloud.com/docs/api/guide': [
        'authorizeUrl',
        'tokenUrl',
        'pkce',
        'scope',
        'refreshToken',
        'rotates',
        'lifetime',
        'trap 2',
        'trap 3',
      ],
      'https://github.com/SocialiteProviders/Providers/blob/master/src/SoundCloud/Provider.php': [
        'authorizeUrl',
        'tokenUrl',
        'scope',
      ],
      'https://developers.soundcloud.com/blog/oauth-migration': ['pkce'],
      'https://github.com/soundcloud/api/issues/328': ['clientAuth', 'clientSecret', 'trap 1'],
      'https://raw.githubusercontent.com/soundcloud/api/master/scripts/sc-api-auth.mjs': [
        'deviceFlow',
      ],
      'https://github.com/soundcloud/api/issues/84': ['registration'],
    },
    unverified: {
      clientSecret:
        'its guide sends one, while its own command-line tool exchanges with PKCE alone',
      scope:
        'its guide names no scope, while a library still sends non-expiring, which tokens no longer are',
      deviceFlow: 'the flow is in its tool and not in its guide',
    },
  },
};
