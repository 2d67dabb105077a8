import type { Profile } from '../profile.ts';

export const bangumi: Profile = {
  displayName: 'Bangumi',
  authorizeUrl: 'https://bgm.tv/oauth/authorize',
  tokenUrl: 'https://bgm.tv/oauth/access_token',
  pkce: 'none',
  quirks: { refreshesWithRedirectUri: true },
  userAgentNames: 'you and your app, for example `sai/my-private-project`',
  refreshToken: 'yes',
};
