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
  refreshToken: 'yes',
  hasDeviceFlow: true,
};
