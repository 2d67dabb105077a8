import type { Profile } from '../profile.ts';

export const notion: Profile = {
  displayName: 'Notion',
  authorizeUrl: 'https://api.notion.com/v1/oauth/authorize',
  tokenUrl: 'https://api.notion.com/v1/oauth/token',
  pkce: 'none',
  clientAuth: 'basic',
  authorizeParams: { owner: 'user' },
  quirks: { tokenRequest: 'json' },
  revocation: { url: 'https://api.notion.com/v1/oauth/revoke', takes: 'access tokens' },
  refreshToken: 'yes',
  refusedRedirects: ['loopback', 'http'],
  unverified: ['lifetime', 'revocation'],
};
