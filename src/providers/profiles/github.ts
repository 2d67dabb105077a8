import type { Profile } from '../profile.ts';

export const github: Profile = {
  displayName: 'GitHub',
  authorizeUrl: 'https://github.com/login/oauth/authorize',
  tokenUrl: 'https://github.com/login/oauth/access_token',
  pkce: 'S256',
  scope: 'read:user',
  revocation: {
    url: 'https://api.github.com/applications/[client id]/token',
    takes: 'access tokens',
    method: 'DELETE',
    clientAuth: 'basic',
    tokenIn: 'access_token',
    body: 'json',
  },
  refreshToken: { given: 'always', rotates: 'yes' },
  lifetime: 'access token 8 hours, refresh token 6 months',
  deviceFlow:
    'RFC 8628: https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps#device-flow',
  registration: 'https://github.com/settings/apps/new',
  register: [
    'Register a GitHub App, not an OAuth app: only its tokens can be refreshed.',
    'Keep Expire user authorization tokens switched on, and choose Generate a new client secret.',
  ],
  traps: [
    'The tokens of an OAuth app do not expire, and come without a refresh token.',
    'A GitHub App has permissions instead of scopes; it ignores `GITHUB_SCOPE`.',
    'The device flow has to be switched on in the settings of the app.',
  ],
  sources: [
    'https://docs.github.com/rest/reference/apps#delete-an-app-token',
    'https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps',
    'https://github.blog/changelog/2025-07-14-pkce-support-for-oauth-and-github-app-authentication',
    'https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/refreshing-user-access-tokens',
  ],
  checked: '2026-11-21',
};
