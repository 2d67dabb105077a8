import type { Profile } from '../profile.ts';

export const discord: Profile = {
  displayName: 'Discord',
  authorizeUrl: 'https://discord.com/api/oauth2/authorize',
  tokenUrl: 'https://discord.com/api/oauth2/token',
  pkce: 'S256',
  clientSecret: 'optional',
  scope: 'identify',
  revocation: { url: 'https://discord.com/api/oauth2/token/revoke' },
  refreshToken: { given: 'always', rotates: 'yes' },
  lifetime: 'access token 7 days',
  deviceFlow:
    'RFC 8628, for approved games on consoles: https://discord.com/developers/docs/discord-social-sdk/development-guides/account-linking-on-consoles',
  registration: 'https://discord.com/developers/applications',
  register: [
    'Choose New Application, then OAuth2.',
    'Choose Reset Secret; or switch on Public Client, and set no secret.',
  ],
  traps: [
    'The token endpoint accepts only a form, not JSON.',
    'Some scopes need Discord’s approval. Asking for one without it ends in an error.',
  ],
  metadata: 'https://discord.com/.well-known/oauth-authorization-server',
  sources: [
    'https://github.com/discord/discord-api-docs/blob/main/docs/topics/OAuth2.md',
    'https://github.com/discord/discord-api-docs/issues/5942',
  ],
  checked: '2026-11-22',
};
