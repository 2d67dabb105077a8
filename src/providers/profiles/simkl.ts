import type { Profile } from '../profile.ts';

export const simkl: Profile = {
  displayName: 'Simkl',
  authorizeUrl: 'https://simkl.com/oauth/authorize',
  tokenUrl: 'https://api.simkl.com/oauth/token',
  pkce: 'none',
  quirks: { clientIdHeader: 'simkl-api-key' },
  userAgentNames: 'your app and its version',
  removeAt: 'https://simkl.com/settings/connected-apps/',
  refreshToken: 'never',
  hasDeviceFlow: true,
};
