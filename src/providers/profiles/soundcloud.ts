import type { Profile } from '../profile.ts';

export const soundcloud: Profile = {
  displayName: 'SoundCloud',
  authorizeUrl: 'https://secure.soundcloud.com/authorize',
  tokenUrl: 'https://secure.soundcloud.com/oauth/token',
  pkce: 'S256',
  revocation: {
    url: 'https://secure.soundcloud.com/sign-out',
    takes: 'access tokens',
    clientAuth: 'none',
    tokenIn: 'access_token',
    body: 'json',
  },
  refreshToken: 'yes',
  hasDeviceFlow: true,
  unverified: ['client secret', 'scope', 'device flow'],
};
