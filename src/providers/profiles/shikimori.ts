import type { Profile } from '../profile.ts';

export const shikimori: Profile = {
  displayName: 'Shikimori',
  authorizeUrl: 'https://shikimori.io/oauth/authorize',
  tokenUrl: 'https://shikimori.io/oauth/token',
  pkce: 'none',
  clientAuth: 'post',
  clientSecret: 'required',
  scope: 'user_rates',
  quirks: { userAgent: 'sign-in-relay' },
  userAgentNames: 'the name of the registered application',
  refreshToken: 'always',
  rotates: 'yes',
  lifetime: 'access token 1 day',
  deviceFlow: 'none',
  registration: 'https://shikimori.io/oauth/applications',
  register: [
    'Name: what `SHIKIMORI_USER_AGENT` will say.',
    'Redirect URI: the redirect URI below.',
    'Scopes: those that your app needs; `user_rates` is for lists.',
  ],
  traps: [
    'Without a `User-Agent` that names the application it may block the relay’s address.',
    'Its domain has moved before. If token requests fail, set `SHIKIMORI_AUTHORIZE_URL` and `SHIKIMORI_TOKEN_URL` to where it is now.',
  ],
  evidence: {
    readOn: '2026-11-21',
    sources: {
      'https://shikimori.one/oauth': [
        'authorizeUrl',
        'tokenUrl',
        'pkce',
        'clientAuth',
        'clientSecret',
        'refreshToken',
        'rotates',
        'lifetime',
        'deviceFlow',
        'userAgent',
        'registration',
        'trap 1',
      ],
      'https://github.com/z411/trackma/pull/837': [
        'authorizeUrl',
        'tokenUrl',
        'registration',
        'trap 2',
      ],
      'https://github.com/shikimori/shikimori/blob/master/config/initializers/doorkeeper.rb': [
        'scope',
        'lifetime',
      ],
      'https://ruby-toolbox.com/projects/omniauth-shikimori-oauth2': ['trap 1'],
    },
    unverified: {
      authorizeUrl:
        'its documentation says shikimori.one, which since January 2026 leads to shikimori.io; the relay follows no redirect',
      tokenUrl:
        'its documentation says shikimori.one, which since January 2026 leads to shikimori.io; the relay follows no redirect',
      registration:
        'its documentation says shikimori.one, which since January 2026 leads to shikimori.io; the relay follows no redirect',
      'trap 2':
        'its documentation says shikimori.one, which since January 2026 leads to shikimori.io; the relay follows no redirect',
    },
  },
};
