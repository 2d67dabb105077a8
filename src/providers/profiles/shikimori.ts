import type { Profile } from '../profile.ts';

export const shikimori: Profile = {
  displayName: 'Shikimori',
  authorizeUrl: 'https://shikimori.io/oauth/authorize',
  tokenUrl: 'https://shikimori.io/oauth/token',
  pkce: 'none',
  scope: 'user_rates',
  quirks: { userAgent: 'sign-in-relay' },
  userAgentNames: 'the name of the registered application',
  refreshToken: { given: 'always', rotates: 'yes' },
  lifetime: 'access token 1 day',
  refusedRedirects: ['http'],
  registration: 'https://shikimori.io/oauth/applications',
  register: [
    'Name: what `SHIKIMORI_USER_AGENT` will say.',
    'Scopes: those that your app needs; `user_rates` is for lists.',
  ],
  traps: [
    'Without a `User-Agent` that names the application it may block the relay’s address.',
    'Its domain has moved before. If token requests fail, set `SHIKIMORI_AUTHORIZE_URL` and `SHIKIMORI_TOKEN_URL` to where it is now.',
  ],
  sources: [
    'https://shikimori.one/oauth',
    'https://github.com/z411/trackma/pull/837',
    'https://github.com/shikimori/shikimori/blob/master/config/initializers/doorkeeper.rb',
  ],
  checked: '2026-11-22',
};
