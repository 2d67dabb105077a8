import type { Profile } from '../profile.ts';

export const facebook: Profile = {
  displayName: 'Facebook',
  authorizeUrl: 'https://www.facebook.com/v26.0/dialog/oauth',
  tokenUrl: 'https://graph.facebook.com/v26.0/oauth/access_token',
  pkce: 'none',
  scope: 'public_profile',
  refreshToken: 'never',
  lifetime: 'access token about 60 days, as `expires_in` says',
  deviceFlow: 'Its own flow: https://developers.facebook.com/docs/facebook-login/for-devices',
  registration: 'https://developers.facebook.com/apps/',
  register: [
    'Create an app, and add Facebook Login.',
    'Facebook Login, Settings, Valid OAuth Redirect URIs: the redirect URI below.',
    'App settings, Basic: copy App ID and App secret.',
  ],
  traps: [
    'Until the app is published, probably only people with a role in it can sign in.',
    'Its endpoints contain a version, which works for at least two years: v26.0, of July 2026, has no end yet. After it, Facebook answers with the oldest version that still works. For a version of your own set `FACEBOOK_AUTHORIZE_URL` and `FACEBOOK_TOKEN_URL`.',
  ],
  sources: [
    'https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow',
    'https://developers.facebook.com/documentation/facebook-login/guides/advanced/oidc-token',
    'https://github.com/nextauthjs/next-auth/blob/main/packages/core/src/providers/facebook.ts',
    'https://developers.facebook.com/docs/facebook-login/for-devices',
    'https://developers.facebook.com/docs/graph-api/guides/versioning',
    'https://developers.facebook.com/docs/graph-api/changelog/versions/',
  ],
  checked: '2026-11-24',
  unverified: {
    PKCE: 'it documents PKCE only for its OpenID flow, and as being tested',
    scope: 'no source was read for it; Auth.js asks for email',
    lifetime: 'no source for the lifetime of a token from a server was found',
    'who can sign in before the app is published': 'no source was read for it',
  },
};
