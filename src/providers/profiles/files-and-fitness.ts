/** Files, and what people measure of themselves. */
import { libraries, type Profile, readOn } from './profile.ts';

const { fact, unverified } = readOn('2026-11-21');

const DROPBOX = 'https://www.dropbox.com/lp/developers/reference/oauth-guide';
const DROPBOX_OFFLINE = 'https://dropbox.tech/developers/using-oauth-2-0-with-offline-access';

const dropbox: Profile = {
  displayName: 'Dropbox',
  authorizeUrl: fact('https://www.dropbox.com/oauth2/authorize', DROPBOX, libraries.golang),
  tokenUrl: fact('https://api.dropboxapi.com/oauth2/token', DROPBOX, libraries.golang),
  pkce: fact('S256', DROPBOX),
  clientAuth: fact('post', DROPBOX),
  clientSecret: fact('optional', DROPBOX),
  scope: fact('account_info.read', libraries.authJs('dropbox')),
  authorizeParams: fact({ token_access_type: 'offline' }, DROPBOX_OFFLINE, libraries.nango),
  refreshToken: fact('with the parameters above', DROPBOX_OFFLINE),
  rotates: fact('no', DROPBOX_OFFLINE),
  lifetime: fact('access token 4 hours, refresh token until it is revoked', DROPBOX_OFFLINE),
  deviceFlow: fact('none', DROPBOX),
  responses: [],
  registration: fact('https://www.dropbox.com/developers/apps', DROPBOX),
  register: [
    'Choose Create app, scoped access.',
    'Permissions: tick what the app asks for, and submit.',
    'Redirect URIs: the redirect URI below. The app key is the client id.',
  ],
  traps: [
    fact('Without `token_access_type=offline` it gives no refresh token.', DROPBOX_OFFLINE),
    fact('An app may ask only for the scopes that are ticked under Permissions.', DROPBOX),
    fact(
      'Before an app has many users Dropbox has to approve it for production.',
      'https://www.dropbox.com/developers/reference/developer-guide',
    ),
  ],
};

const STRAVA = 'https://developers.strava.com/docs/authentication/';

const strava: Profile = {
  displayName: 'Strava',
  authorizeUrl: fact('https://www.strava.com/oauth/authorize', STRAVA, libraries.golang),
  tokenUrl: fact('https://www.strava.com/oauth/token', STRAVA, libraries.golang),
  pkce: unverified(
    'none',
    'its documentation does not mention PKCE, while Auth.js sends it',
    STRAVA,
    libraries.authJsChecks,
  ),
  clientAuth: fact('post', STRAVA, libraries.authJs('strava')),
  clientSecret: fact('required', STRAVA),
  scope: fact('read', STRAVA, libraries.authJs('strava')),
  refreshToken: fact('always', STRAVA),
  rotates: fact(
    'sometimes',
    'https://code.dblock.org/2018/11/17/dealing-with-strava-api-token-migration.html',
  ),
  lifetime: fact('access token 6 hours', STRAVA),
  deviceFlow: fact('none', STRAVA),
  responses: [fact('`athlete` holds the account; the relay drops it', STRAVA)],
  registration: fact(
    'https://www.strava.com/settings/api',
    'https://docs.appmixer.com/connector-configuration/strava',
  ),
  register: [
    'Fill in the form.',
    'Authorization Callback Domain: the host of the redirect URI below, without https:// and path.',
  ],
  traps: [
    fact(
      '`STRAVA_SCOPE` takes commas between scopes: `read,activity:read`.',
      STRAVA,
      libraries.nango,
    ),
    fact('Users may untick scopes: the app has to look at the granted ones.', STRAVA),
    fact(
      'A new app admits one athlete until Strava raises the limit.',
      'https://communityhub.strava.com/developers-api-7/request-for-athlete-limit-increase-running-coach-pro-app-id-236045-13261',
    ),
  ],
};

const FITBIT = 'https://dev.fitbit.com/build/reference/web-api/authorization/oauth2-token/';
const FITBIT_AUTHORIZATION = 'https://dev.fitbit.com/build/reference/web-api/authorization/';
const FITBIT_REFRESH =
  'https://dev.fitbit.com/build/reference/web-api/authorization/refresh-token/';
const FITBIT_END = 'https://developers.google.com/health/migration';
const FITBIT_ENDED =
  'Google announced the end of this API for September 2026; whether it still answers was not seen';

const fitbit: Profile = {
  displayName: 'Fitbit',
  authorizeUrl: unverified(
    'https://www.fitbit.com/oauth2/authorize',
    FITBIT_ENDED,
    libraries.golang,
    'https://apis.io/providers/fitbit/',
  ),
  tokenUrl: unverified(
    'https://api.fitbit.com/oauth2/token',
    FITBIT_ENDED,
    FITBIT,
    'https://apis.io/providers/fitbit/',
  ),
  pkce: fact('S256', FITBIT_AUTHORIZATION, FITBIT),
  clientAuth: fact('basic', FITBIT),
  clientSecret: fact('required', FITBIT),
  scope: fact('profile', libraries.socialite('Fitbit'), libraries.socialCore('fitbit')),
  refreshToken: fact('always', FITBIT_REFRESH),
  rotates: fact('yes', FITBIT_REFRESH),
  lifetime: fact('access token 8 hours', FITBIT),
  deviceFlow: fact('none', FITBIT_AUTHORIZATION),
  responses: [fact('`user_id` is beside the tokens; the relay drops it', FITBIT)],
  registration: fact('https://dev.fitbit.com/apps', FITBIT_END),
  register: [
    'OAuth 2.0 Application Type: Server.',
    'Redirect URL: the redirect URI below.',
    'Default Access Type: Read Only, unless the app writes.',
  ],
  traps: [
    unverified(
      'Its successor is the Google Health API. For that use `PROVIDERS=google` with its scopes in `GOOGLE_SCOPE`.',
      FITBIT_ENDED,
      FITBIT_END,
    ),
    fact('An app of the type Server has to authenticate by HTTP Basic.', FITBIT),
    fact('A code is good for 10 minutes.', FITBIT),
  ],
};

export const FILES_AND_FITNESS = { dropbox, strava, fitbit } as const;
