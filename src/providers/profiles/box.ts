import type { Profile } from '../profile.ts';

export const box: Profile = {
  displayName: 'Box',
  authorizeUrl: 'https://account.box.com/api/oauth2/authorize',
  tokenUrl: 'https://api.box.com/oauth2/token',
  pkce: 'none',
  revocation: { url: 'https://api.box.com/oauth2/revoke' },
  refreshToken: { given: 'always', rotates: 'yes' },
  lifetime: 'access token 1 hour, refresh token 60 days or one use',
  registration: 'https://app.box.com/developers/console',
  register: [
    'Create a custom app with user authentication (OAuth 2.0).',
    'Application scopes: those that the app needs. Box takes them from here if none are sent.',
  ],
  traps: [
    'A code is valid for 30 seconds.',
    'A user who does not start the app for 60 days signs in again.',
  ],
  sources: [
    'https://developer.box.com/guides/api-calls/permissions-and-errors/expiration/',
    'https://developer.box.com/guides/authentication/tokens/revoke/',
    'https://github.com/nextauthjs/next-auth/blob/main/packages/core/src/providers/box.ts',
  ],
  checked: '2026-11-24',
  unverified: { PKCE: 'no source was found', registration: 'the console was not seen' },
};
