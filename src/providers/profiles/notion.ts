import type { Profile } from '../profile.ts';

export const notion: Profile = {
  displayName: 'Notion',
  authorizeUrl: 'https://api.notion.com/v1/oauth/authorize',
  tokenUrl: 'https://api.notion.com/v1/oauth/token',
  pkce: 'none',
  clientAuth: 'basic',
  clientSecret: 'required',
  authorizeParams: { owner: 'user' },
  quirks: { tokenRequest: 'json' },
  revocation: { url: 'https://api.notion.com/v1/oauth/revoke', takes: 'access tokens' },
  refreshToken: 'always',
  rotates: 'yes',
  lifetime: 'its responses have no `expires_in`',
  deviceFlow: 'none',
  responses: ['`owner` and the workspace are beside the tokens; the relay drops them'],
  refusedRedirects: ['loopback', 'http'],
  registration: 'https://www.notion.so/developers/connections',
  register: [
    'Create a public connection: an internal one has no client id.',
    'Redirect URIs: the redirect URI below.',
  ],
  traps: [
    'It has no scopes. The user chooses pages during the sign-in, and the app sees only those.',
  ],
  evidence: {
    checked: { on: '2026-11-22', by: 'stored copies' },
    sources: {
      'https://nango.dev/docs/api-integrations/notion/how-to-register-your-own-notion-oauth-app': [
        'registration',
      ],
      'https://developers.notion.com/reference/create-a-token.md': ['registration'],
      'https://developers.notion.com/reference/create-a-token': [
        'tokenUrl',
        'clientAuth',
        'clientSecret',
        'refreshToken',
        'response 1',
      ],
      'https://developers.notion.com/reference/refresh-a-token': ['clientAuth', 'refreshToken'],
      'https://www.mintlify.com/makenotion/notion-sdk-js/guides/oauth': [
        'authorizeUrl',
        'revocation',
      ],
      'https://github.com/NangoHQ/nango/blob/master/packages/providers/providers.yaml': [
        'authorizeUrl',
        'tokenUrl',
        'clientAuth',
        'tokenRequest',
      ],
      'https://docs.archyon.app/api-reference/auth/begin-notion-oauth': ['authorizeParams'],
      'https://docs.alterauth.com/providers/notion': ['pkce', 'rotates', 'scope', 'trap 1'],
      'https://docs.allauth.org/en/latest/socialaccount/providers/notion.html': [
        'refusedRedirects',
      ],
    },
    unverified: {
      lifetime: 'older sources say that tokens never expire, newer ones that they are refreshed',
      revocation: 'its SDK has it; the reference page was not read',
      deviceFlow: 'no source was found',
    },
  },
};
