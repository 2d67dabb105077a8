import type { Profile } from '../profile.ts';

export const microsoft: Profile = {
  displayName: 'Microsoft',
  authorizeUrl: 'https://login.microsoftonline.com/common/oauth2/v2.0/authorize',
  tokenUrl: 'https://login.microsoftonline.com/common/oauth2/v2.0/token',
  pkce: 'S256',
  scope: 'openid profile offline_access User.Read',
  removeAt: 'https://account.live.com/consent/Manage',
  refreshToken: { given: 'with the scope above', rotates: 'yes' },
  lifetime: 'access token about 1 hour, refresh token 90 days',
  deviceFlow:
    'RFC 8628: https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-device-code',
  refusedRedirects: ['loopback', 'http'],
  registration: 'https://go.microsoft.com/fwlink/?linkid=2083908',
  register: [
    'Choose New registration, and who may sign in.',
    'Redirect URI: the platform Web, and the redirect URI below.',
    'Certificates & secrets: New client secret. Its value is the secret, not its id.',
  ],
  traps: [
    '`scope` is required: without it the request is refused.',
    'A redirect URI of the platform SPA is refused from a server, and its refresh tokens live 24 hours.',
    'The form for redirect URIs refuses `http://127.0.0.1`. Write `localhost`, or enter the address in the manifest of the app.',
    '`common` admits every account. For one organization set both endpoints with your tenant instead of `common`.',
  ],
  metadata: 'https://login.microsoftonline.com/common/v2.0/.well-known/openid-configuration',
  sources: [
    'https://learn.microsoft.com/en-us/entra/identity-platform/reply-url',
    'https://github.com/OneDrive/onedrive-api-docs/blob/live/docs/rest-api/getting-started/graph-oauth.md',
    'https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-auth-code-flow',
    'https://learn.microsoft.com/en-us/entra/identity-platform/refresh-tokens',
  ],
  checked: '2026-11-22',
};
