import type { Profile } from '../profile.ts';

export const kick: Profile = {
  displayName: 'Kick',
  authorizeUrl: 'https://id.kick.com/oauth/authorize',
  tokenUrl: 'https://id.kick.com/oauth/token',
  pkce: 'S256',
  scope: 'user:read',
  refreshToken: { given: 'always', rotates: 'yes' },
  lifetime: 'as `expires_in` says',
  refusedRedirects: ['loopback'],
  registration: 'https://kick.com/settings/developer',
  register: ['Switch on two-factor authentication for your account, then create an app.'],
  traps: [
    'Users report refresh tokens that end after 30 to 90 days. Then the user signs in again.',
    '`127.0.0.1` in a redirect URI becomes `localhost` on its pages, so that it no longer matches.',
    'Its revocation endpoint takes the token in the query, where proxies log it. The relay does not use it.',
  ],
  sources: [
    'https://github.com/KickEngineering/KickDevDocs/blob/main/getting-started/generating-tokens-oauth2-flow.md',
    'https://github.com/KickEngineering/KickDevDocs/blob/main/getting-started/kick-apps-setup.md',
    'https://github.com/KickEngineering/KickDevDocs/blob/main/scopes/scopes.md',
    'https://github.com/KickEngineering/KickDevDocs/issues/359',
    'https://github.com/KickEngineering/KickDevDocs/issues/413',
  ],
  checked: '2026-11-24',
};
