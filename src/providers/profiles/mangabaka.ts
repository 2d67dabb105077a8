import type { Profile } from '../profile.ts';

export const mangabaka: Profile = {
  displayName: 'MangaBaka',
  authorizeUrl: 'https://mangabaka.org/auth/oauth2/authorize',
  tokenUrl: 'https://mangabaka.org/auth/oauth2/token',
  pkce: 'S256',
  clientSecret: 'optional',
  scope: 'openid profile library.read offline_access',
  revocation: { url: 'https://mangabaka.org/auth/oauth2/revoke' },
  refreshToken: { given: 'with the scope above', rotates: 'sometimes' },
  lifetime: 'as `expires_in` says',
  registration: 'https://mangabaka.org/my/settings/api-and-apps',
  register: ['Create an OAuth client.', 'Redirect URI: the redirect URI below.'],
  traps: ['An app that changes lists needs `library.write` in `MANGABAKA_SCOPE` too.'],
  metadata: 'https://mangabaka.org/.well-known/openid-configuration',
  sources: [
    'https://github.com/mihonapp/mihon/blob/main/app/src/main/java/eu/kanade/tachiyomi/data/track/mangabaka/MangaBakaApi.kt',
  ],
  checked: '2026-11-22',
  unverified: {
    'the scope for a refresh token': 'clients ask for it always; its metadata was not read',
    revocation: 'one client names it; its metadata was not read',
    rotation: 'no source says it; clients store a new one if there is one',
    lifetime: 'no source was found',
    registration: 'clients link to it; what the form asks was not seen',
  },
};
