import type { Profile } from '../profile.ts';

export const huggingface: Profile = {
  displayName: 'Hugging Face',
  authorizeUrl: 'https://huggingface.co/oauth/authorize',
  tokenUrl: 'https://huggingface.co/oauth/token',
  pkce: 'S256',
  clientAuth: 'basic',
  clientSecret: 'optional',
  scope: 'openid profile',
  refreshToken: 'sometimes',
  hasDeviceFlow: true,
  unverified: ['refresh token', 'lifetime'],
};
