import type { Profile } from '../profile.ts';

export const gitlab: Profile = {
  displayName: 'GitLab',
  authorizeUrl: '[url]/oauth/authorize',
  tokenUrl: '[url]/oauth/token',
  defaultUrl: 'https://gitlab.com',
  pkce: 'S256',
  clientSecret: 'optional',
  scope: 'read_user',
  quirks: { refreshesWithRedirectUri: true },
  revocation: { url: '[url]/oauth/revoke' },
  refreshToken: { given: 'always', rotates: 'yes' },
  lifetime: 'access token 2 hours',
  deviceFlow: 'RFC 8628: https://docs.gitlab.com/api/oauth2/#device-authorization-grant-flow',
  registration: '[url]/-/user_settings/applications',
  register: [
    'Choose Add new application.',
    'Confidential: yes, if you set the secret. Scopes: all that the app asks for.',
  ],
  traps: ['An application may ask only for the scopes that are ticked in it.'],
  metadata: 'https://gitlab.com/.well-known/openid-configuration',
  sources: [
    'https://docs.gitlab.com/api/oauth2/',
    'https://github.com/python-social-auth/social-core/blob/master/social_core/backends/gitlab.py',
  ],
  checked: '2026-11-22',
};
