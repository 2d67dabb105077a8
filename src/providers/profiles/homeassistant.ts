import type { Profile } from '../profile.ts';

export const homeassistant: Profile = {
  displayName: 'Home Assistant',
  authorizeUrl: '[url]/auth/authorize',
  tokenUrl: '[url]/auth/token',
  pkce: 'none',
  clientSecret: 'none',
  revocation: { url: '[url]/auth/revoke', clientAuth: 'none' },
  refreshToken: { given: 'always', rotates: 'no' },
  lifetime: 'access token 30 minutes',
  registration: 'https://developers.home-assistant.io/docs/auth_api#clients',
  register: [
    'Nothing is registered. `HOMEASSISTANT_CLIENT_ID` is your `OAUTH_BASE_URL`: the redirect URI has to have the host and port of the client id.',
  ],
  traps: [
    'It revokes only refresh tokens, and with one all its access tokens.',
    'A relay serves one Home Assistant. Its users sign in with their accounts there.',
  ],
  sources: [
    'https://developers.home-assistant.io/docs/auth_api',
    'https://github.com/home-assistant/core/blob/dev/homeassistant/components/auth/__init__.py',
  ],
  checked: '2026-11-22',
};
