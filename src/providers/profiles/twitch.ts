import type { Profile } from '../profile.ts';

export const twitch: Profile = {
  displayName: 'Twitch',
  authorizeUrl: 'https://id.twitch.tv/oauth2/authorize',
  tokenUrl: 'https://id.twitch.tv/oauth2/token',
  pkce: 'none',
  scope: 'user:read:email',
  revocation: {
    url: 'https://id.twitch.tv/oauth2/revoke',
    takes: 'access tokens',
    clientAuth: 'client_id',
  },
  refreshToken: { given: 'always', rotates: 'sometimes' },
  lifetime: 'differs, as `expires_in` says',
  deviceFlow:
    'RFC 8628 for public clients: https://dev.twitch.tv/docs/authentication/getting-tokens-oauth#device-code-grant-flow',
  registration: 'https://dev.twitch.tv/console/apps',
  register: [
    'Switch on two-factor authentication for your account, then choose Register Your Application.',
    'Client Type: Confidential. Then choose New Secret.',
  ],
  traps: [
    'An app has to ask Twitch each hour whether its access token is still valid.',
    'The app calls the API with its client id in `Client-Id`, beside the token.',
  ],
  metadata: 'https://id.twitch.tv/oauth2/.well-known/openid-configuration',
  sources: [
    'https://dev.twitch.tv/docs/authentication/revoke-tokens',
    'https://dev.twitch.tv/docs/authentication/getting-tokens-oauth',
    'https://github.com/twitchdev/issues/issues/1097',
    'https://dev.twitch.tv/docs/authentication/refresh-tokens',
  ],
  checked: '2026-11-22',
};
