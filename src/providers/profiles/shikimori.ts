import type { Profile } from '../profile.ts';

export const shikimori: Profile = {
  displayName: 'Shikimori',
  authorizeUrl: 'https://shikimori.io/oauth/authorize',
  tokenUrl: 'https://shikimori.io/oauth/token',
  pkce: 'none',
  scope: 'user_rates',
  userAgentNames: 'the name of the registered application',
  refreshToken: 'yes',
  refusedRedirects: ['http'],
};
