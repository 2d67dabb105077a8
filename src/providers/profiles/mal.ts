import type { Profile } from '../profile.ts';

export const mal: Profile = {
  displayName: 'MyAnimeList',
  authorizeUrl: 'https://myanimelist.net/v1/oauth2/authorize',
  tokenUrl: 'https://myanimelist.net/v1/oauth2/token',
  pkce: 'plain',
  clientSecret: 'optional',
  refreshToken: { given: 'always', rotates: 'yes' },
  lifetime: 'access token 1 hour, refresh token 1 month',
  registration: 'https://myanimelist.net/apiconfig',
  register: [
    'Choose Create ID.',
    'App Type: `web` gives a client secret, the other types give none. Both work. The type cannot be changed later.',
  ],
  traps: [
    'Its only PKCE method is `plain`: anything else is refused.',
    'A refresh has to come from the client id that the sign-in was made with. If you replace the client id, users sign in again.',
  ],
  sources: [
    'https://myanimelist.net/apiconfig/references/authorization',
    'https://myanimelist.net/blog.php?eid=835707',
    'https://github.com/mihonapp/mihon/blob/main/app/src/main/java/eu/kanade/tachiyomi/data/track/myanimelist/dto/MALOAuth.kt',
    'https://github.com/kodjodevf/mangayomi/pull/534',
  ],
  checked: '2026-11-21',
};
