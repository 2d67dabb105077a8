import type { Profile } from '../profile.ts';

export const google: Profile = {
  displayName: 'Google',
  authorizeUrl: 'https://accounts.google.com/o/oauth2/v2/auth',
  tokenUrl: 'https://oauth2.googleapis.com/token',
  pkce: 'S256',
  scope: 'openid email profile',
  authorizeParams: { access_type: 'offline', prompt: 'consent' },
  revocation: { url: 'https://oauth2.googleapis.com/revoke', clientAuth: 'none' },
  refreshToken: { given: 'with the parameters above', rotates: 'no' },
  lifetime: 'access token 1 hour, refresh token until it is unused for 6 months',
  deviceFlow:
    'RFC 8628, for a few scopes only: https://developers.google.com/identity/protocols/oauth2/limited-input-device',
  refusedRedirects: ['http', 'address', 'private'],
  review:
    'Apps with only the scopes of a sign-in need no verification, unless they want to show a name and a logo. For sensitive and restricted scopes Google asks for a home page on a domain of yours, a privacy policy on the same domain, a reason for each scope and a video.',
  registration: 'https://console.cloud.google.com/auth/clients',
  register: [
    'Create a project, enable the APIs that your app calls, and fill in the consent screen.',
    'Create a client of the type Web application.',
  ],
  traps: [
    'Without `prompt=consent` a refresh token comes only with the first sign-in of a user.',
    'While the app is in testing, a refresh token lives 7 days, and only listed test users can sign in. Publish the app.',
    'It refuses to sign in inside the web view of another app.',
  ],
  metadata: 'https://accounts.google.com/.well-known/openid-configuration',
  sources: [
    'https://developers.google.com/identity/protocols/oauth2/production-readiness/sensitive-scope-verification',
    'https://developers.google.com/identity/protocols/oauth2/web-server',
    'https://developers.google.com/identity/protocols/oauth2',
    'https://developers.google.com/identity/protocols/oauth2/limited-input-device',
    'https://developers.googleblog.com/en/upcoming-security-changes-to-googles-oauth-20-authorization-endpoint-in-embedded-webviews',
  ],
  checked: '2026-11-22',
};
