import type { Profile } from '../profile.ts';

export const mastodon: Profile = {
  displayName: 'Mastodon',
  authorizeUrl: '[url]/oauth/authorize',
  tokenUrl: '[url]/oauth/token',
  pkce: 'S256',
  clientAuth: 'post',
  clientSecret: 'required',
  scope: 'read',
  revocation: { url: '[url]/oauth/revoke', takes: 'access tokens' },
  refreshToken: 'never',
  rotates: 'no refresh tokens',
  lifetime: 'until it is revoked',
  deviceFlow: 'none',
  registration: '[url]/settings/applications',
  register: [
    'Create an application.',
    'Redirect URI: the redirect URI below.',
    'Scopes: all that the app asks for.',
  ],
  traps: [
    'An app may ask only for scopes with which it was registered.',
    'A relay serves one server, and only its users.',
    'Before version 4.3 it ignores PKCE, and then the secret alone protects the code.',
  ],
  evidence: {
    checked: { on: '2026-11-22', by: 'stored copies' },
    sources: {
      'https://docs.joinmastodon.org/methods/oauth/': [
        'authorizeUrl',
        'tokenUrl',
        'pkce',
        'clientAuth',
        'clientSecret',
        'scope',
        'revocation',
        'deviceFlow',
        'refreshToken',
        'trap 1',
      ],
      'https://docs.joinmastodon.org/spec/oauth/': ['pkce', 'trap 3'],
      'https://arcticjs.dev/providers/mastodon': ['refreshToken', 'rotates', 'lifetime', 'trap 2'],
    },
    unverified: {
      registration:
        'the page in the settings was not seen; apps can also be registered by POST /api/v1/apps',
    },
  },
};
