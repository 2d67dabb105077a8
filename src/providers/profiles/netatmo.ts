import type { Profile } from '../profile.ts';

export const netatmo: Profile = {
  displayName: 'Netatmo',
  authorizeUrl: 'https://api.netatmo.com/oauth2/authorize',
  tokenUrl: 'https://api.netatmo.com/oauth2/token',
  pkce: 'none',
  scope: 'read_station',
  refreshToken: { given: 'always', rotates: 'yes' },
  lifetime: 'access token 3 hours',
  registration: 'https://dev.netatmo.com/apps/createanapp',
  register: ['Create an app.', 'Redirect URI: the redirect URI below.'],
  traps: [
    'Since 2024 a refresh ends the access token too, even one that has not expired.',
    'Each kind of device has scopes of its own, such as `read_thermostat` and `read_camera`.',
  ],
  sources: [
    'https://github.com/Phil353556/netatmo-manage-tokens',
    'https://github.com/philippelt/netatmo-api-python/issues/82',
    'https://github.com/home-assistant/core/blob/dev/homeassistant/components/netatmo/const.py',
  ],
  checked: '2026-11-24',
  unverified: { PKCE: 'the clients that were read send none; Netatmo’s own page was not read' },
};
