import type { Profile } from '../profile.ts';

export const nextcloud: Profile = {
  displayName: 'Nextcloud',
  authorizeUrl: '[url]/apps/oauth2/authorize',
  tokenUrl: '[url]/apps/oauth2/api/v1/token',
  pkce: 'S256',
  refreshToken: { given: 'always', rotates: 'yes' },
  lifetime: 'access token 1 hour',
  deviceFlow:
    'Login flow v2, which gives app passwords: https://docs.nextcloud.com/server/latest/developer_manual/client_apis/LoginFlow/index.html',
  registration: '[url]/settings/admin/security',
  register: ['As an administrator add a client under OAuth 2.0 clients.'],
  traps: [
    'A refresh token that it does not know gets `invalid_request`, not `invalid_grant`.',
    'It has no scopes: every token reads and writes all of the account.',
    'If its addresses contain `index.php`, so does `NEXTCLOUD_URL`: `https://cloud.example/index.php`.',
    'A version without PKCE ignores it, and then the secret alone protects the code.',
  ],
  sources: [
    'https://docs.nextcloud.com/server/latest/admin_manual/configuration_server/oauth2.html',
    'https://github.com/nextcloud/server/pull/59930',
    'https://github.com/nextcloud/server/blob/master/apps/oauth2/lib/Controller/OauthApiController.php',
  ],
  checked: '2026-11-24',
  unverified: {
    PKCE: 'the pull request that adds it was open when it was read, so no version can be named',
    'device flow': 'its page was not read',
  },
};
