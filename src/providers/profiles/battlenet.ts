import type { Profile } from '../profile.ts';

export const battlenet: Profile = {
  displayName: 'Battle.net',
  authorizeUrl: 'https://oauth.battle.net/authorize',
  tokenUrl: 'https://oauth.battle.net/token',
  pkce: 'none',
  scope: 'openid',
  refreshToken: 'sometimes',
  unverified: ['PKCE', 'refresh token', 'lifetime'],
};
