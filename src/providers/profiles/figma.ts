import type { Profile } from '../profile.ts';

export const figma: Profile = {
  displayName: 'Figma',
  authorizeUrl: 'https://www.figma.com/oauth',
  tokenUrl: 'https://api.figma.com/v1/oauth/token',
  refreshUrl: 'https://api.figma.com/v1/oauth/refresh',
  pkce: 'none',
  clientAuth: 'basic',
  scope: 'current_user:read',
  refreshToken: { given: 'always', rotates: 'no' },
  lifetime: 'access token 90 days, as `expires_in` says',
  registration: 'https://www.figma.com/developers/apps',
  register: ['Create an OAuth app.', 'Redirect URLs: the redirect URI below.'],
  traps: [
    'Since February 2025 tokens come from api.figma.com. Older guides name www.figma.com.',
    'An app has one valid access token for each user: a second device ends that of the first.',
  ],
  sources: [
    'https://developers.figma.com/docs/rest-api/authentication',
    'https://arctic.pages.dev/providers/figma',
    'https://community.auth0.com/t/figma-tokenurl-migration/182728',
    'https://github.com/NangoHQ/nango/blob/master/docs/integrations/all/figma.mdx',
  ],
  checked: '2026-11-24',
  unverified: {
    PKCE: 'Figma’s own page was read in part, without a word of it',
    lifetime: 'clients assume it',
  },
};
