import type { Profile } from '../profile.ts';

export const mastodon: Profile = {
  displayName: 'Mastodon',
  authorizeUrl: '[url]/oauth/authorize',
  tokenUrl: '[url]/oauth/token',
  pkce: 'S256',
  scope: 'read',
  revocation: { url: '[url]/oauth/revoke', takes: 'access tokens' },
  refreshToken: 'never',
  lifetime: 'until it is revoked',
  registration: '[url]/settings/applications',
  register: ['Create an application.', 'Scopes: all that the app asks for.'],
  traps: [
    'An app may ask only for scopes with which it was registered.',
    'A relay serves one server, and only its users.',
    'Before version 4.3 it ignores PKCE, and then the secret alone protects the code.',
  ],
  sources: [
    'https://docs.joinmastodon.org/methods/oauth/',
    'https://docs.joinmastodon.org/spec/oauth/',
    'https://arcticjs.dev/providers/mastodon',
  ],
  checked: '2026-11-22',
  unverified: {
    registration:
      'the page in the settings was not seen; apps can also be registered by POST /api/v1/apps',
  },
};
