import type { Profile } from '../profile.ts';

export const smartthings: Profile = {
  displayName: 'SmartThings',
  authorizeUrl: 'https://api.smartthings.com/v1/oauth/authorize',
  tokenUrl: 'https://api.smartthings.com/v1/oauth/token',
  pkce: 'none',
  clientAuth: 'basic',
  scope: 'r:devices:*',
  refreshToken: { given: 'always', rotates: 'yes' },
  lifetime: 'access token 24 hours, refresh token 30 days',
  registration: 'https://developer.smartthings.com/docs/service-integrations/oauth',
  register: [
    'Run `smartthings apps:create` of its command line, and choose OAuth-In App.',
    'Scopes: all that the app asks for.',
  ],
  traps: [
    'An app that switches devices needs `x:devices:*` in `SMARTTHINGS_SCOPE` too.',
    'Older guides and Home Assistant name other endpoints, such as auth-global.api.smartthings.com.',
  ],
  sources: [
    'https://developer.smartthings.com/docs/service-integrations/oauth',
    'https://developer.smartthings.com/docs/service-integrations/token-management',
    'https://community.smartthings.com/t/smartthings-api-help/294403',
    'https://github.com/home-assistant/core/blob/dev/homeassistant/components/smartthings/application_credentials.py',
  ],
  checked: '2026-11-24',
  unverified: { PKCE: 'its guide does not mention PKCE' },
};
