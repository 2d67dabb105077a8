import type { Profile } from '../profile.ts';

export const strava: Profile = {
  displayName: 'Strava',
  authorizeUrl: 'https://www.strava.com/oauth/authorize',
  tokenUrl: 'https://www.strava.com/oauth/token',
  pkce: 'none',
  scope: 'read',
  scopeSeparator: ',',
  quirks: { expiresAt: true },
  refusals: [
    {
      means: 'invalid_grant',
      grant: 'refresh',
      status: 400,
      body: { errors: { resource: 'RefreshToken', code: 'invalid' } },
    },
    {
      means: 'invalid_grant',
      grant: 'exchange',
      body: { errors: { resource: 'AuthorizationCode' } },
    },
    { means: 'invalid_client', body: { errors: { resource: 'Application' } } },
  ],
  revocation: { url: 'https://www.strava.com/oauth/revoke', clientAuth: 'basic' },
  refreshToken: 'yes',
  unverified: ['PKCE'],
};
