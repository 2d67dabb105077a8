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
  refreshToken: { given: 'always', rotates: 'yes' },
  lifetime: 'its responses have no `expires_in`',
  refusedRedirects: ['loopback', 'http'],
  registration: 'https://www.notion.so/developers/connections',
  register: ['Create a public connection: an internal one has no client id.'],
  traps: [
    'A second sign-in of the same user, on another device, may end the refresh token of the first.',
    'It has no scopes. The user chooses pages during the sign-in, and the app sees only those.',
  ],
  sources: [
    'https://developers.notion.com/reference/create-a-token',
    'https://www.mintlify.com/makenotion/notion-sdk-js/guides/oauth',
    'https://github.com/NangoHQ/nango/blob/master/packages/providers/providers.yaml',
    'https://github.com/ComposioHQ/composio/pull/3606',
  ],
  checked: '2026-11-24',
  unverified: {
    lifetime: 'older sources say that tokens never expire, newer ones that they are refreshed',
    revocation: 'its SDK has it; the reference page was not read',
  },
};
