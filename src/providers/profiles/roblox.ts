import type { Profile } from '../profile.ts';

export const roblox: Profile = {
  displayName: 'Roblox',
  authorizeUrl: 'https://apis.roblox.com/oauth/v1/authorize',
  tokenUrl: 'https://apis.roblox.com/oauth/v1/token',
  pkce: 'S256',
  clientSecret: 'optional',
  scope: 'openid profile',
  revocation: { url: 'https://apis.roblox.com/oauth/v1/token/revoke' },
  refreshToken: { given: 'always', rotates: 'yes' },
  lifetime: 'access token 15 minutes, refresh token 90 days or one use',
  refusedRedirects: ['http'],
  review: 'Until Roblox has reviewed an app, ten users can sign in.',
  registration: 'https://create.roblox.com/dashboard/credentials?activeTab=OAuthTab',
  register: [
    'Verify your identity: without it no app can be registered. Then choose Create App.',
    'Permissions: those that the app asks for.',
  ],
  traps: [
    'A code is valid for one minute.',
    'If it refuses a sign-in with a secret and PKCE, set `ROBLOX_PKCE=none`.',
    'It revokes only refresh tokens, and with one the whole sign-in.',
    'Users younger than 13 cannot sign in.',
  ],
  metadata: 'https://apis.roblox.com/oauth/.well-known/openid-configuration',
  sources: [
    'https://github.com/Roblox/creator-docs/blob/main/content/en-us/cloud/auth/oauth2-reference.md',
    'https://github.com/Roblox/creator-docs/blob/main/content/en-us/cloud/auth/oauth2-registration.md',
    'https://github.com/Roblox/creator-docs/blob/main/content/en-us/cloud/auth/oauth2-overview.md',
    'https://github.com/pilcrowonpaper/arctic/pull/110',
  ],
  checked: '2026-11-24',
  unverified: {
    PKCE: 'a library found in 2024 that it fails with a secret; its guide allows both',
  },
};
