import type { Profile } from '../profile.ts';

export const huggingface: Profile = {
  displayName: 'Hugging Face',
  authorizeUrl: 'https://huggingface.co/oauth/authorize',
  tokenUrl: 'https://huggingface.co/oauth/token',
  pkce: 'S256',
  clientAuth: 'basic',
  clientSecret: 'optional',
  scope: 'openid profile',
  refreshToken: { given: 'sometimes', rotates: 'yes' },
  lifetime: 'access token 8 hours, refresh token 3 months',
  deviceFlow: 'RFC 8628: https://huggingface.co/docs/hub/oauth#device-code-oauth',
  registration: 'https://huggingface.co/settings/applications/new',
  register: [
    'Create an application, with a secret or without.',
    'Scopes: those that the app asks for.',
  ],
  traps: ['For the models of an organization the user has to choose it during the sign-in.'],
  metadata: 'https://huggingface.co/.well-known/openid-configuration',
  sources: [
    'https://huggingface.co/docs/hub/oauth',
    'https://github.com/huggingface/hub-docs/blob/main/docs/hub/oauth.md',
    'https://github.com/huggingface/chat-ui/issues/1377',
    'https://github.com/nextauthjs/next-auth/blob/main/packages/core/src/providers/huggingface.ts',
  ],
  checked: '2026-11-24',
  unverified: {
    'refresh token': 'an employee calls it optional, and its guide does not mention it',
    lifetime: 'the employee says that of the refresh token, its guide that of exchanged tokens',
  },
};
