/** The schemas of the API document. */
import { TOKEN_ERRORS } from '../../monitor.ts';
import {
  arrayOf,
  boolean,
  closed,
  matching,
  nonEmpty,
  open,
  positive,
  schema,
  string,
  uri,
} from './elements.ts';

const IF_GIVEN = 'If the provider gave one';
const WITH_DETAILS = 'With `details`, if the provider gave one';

export const schemas = {
  DeviceAuthorizationRequest: {
    type: 'object',
    properties: { device: string('Shown to the user') },
  },
  TokenRequest: open({
    grant_type: { enum: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'] },
    'device_code?': string(),
    'refresh_token?': string(),
    'scope?': string('Fewer scopes, when refreshing'),
  }),
  Capability: matching(
    '^[\\w-]{24}$',
    '144 random bits in base64url. Anyone who has it can use it',
  ),
  UserCode: matching('^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$'),
  Started: closed({
    session: schema('Capability', 'The poll secret; never leaves the device'),
    url: uri('The link, for the user'),
    'redirectUri?': uri('In an open sign-in'),
    expiresIn: positive('Lifetime of the session, in seconds'),
    'userCode?': schema('UserCode', 'With `code`'),
    'link?': uri('With `code`: the short link'),
    'qr?': uri('With `code`: the short link as a QR code'),
  }),
  Tokens: closed({
    accessToken: nonEmpty(),
    'refreshToken?': nonEmpty(IF_GIVEN),
    'expiresIn?': positive(IF_GIVEN),
    'tokenType?': nonEmpty(WITH_DETAILS),
    'scope?': nonEmpty(WITH_DETAILS),
    'idToken?': nonEmpty(WITH_DETAILS),
  }),
  Code: closed(
    {
      code: nonEmpty(),
      tokenUrl: uri("The provider's token endpoint"),
      clientId: nonEmpty(),
      redirectUri: uri(),
      'revocationUrl?': uri("The provider's revocation endpoint, if a device can use it"),
    },
    'If the start had a `challenge`: what the device exchanges itself (RFC 6749 section 4.1.3)',
  ),
  CallbackQuery: open({
    callback: {
      type: 'object',
      description: "The query of the callback as it came, with the client's own `state`",
      additionalProperties: string(),
    },
    redirectUri: string(),
  }),
  Failed: closed({
    error: { enum: ['access_denied', 'authorization_failed', 'missing_code', 'exchange_failed'] },
  }),
  Progress: closed({ progress: { const: 'opened' } }, 'The user was redirected to the provider'),
  Result: { oneOf: ['Tokens', 'Code', 'CallbackQuery', 'Failed'].map((name) => schema(name)) },
  Refused: closed({
    error: { enum: TOKEN_ERRORS.filter((error) => error !== 'unsupported_token_type') },
    'error_description?': string("The provider's own words, for logs"),
  }),
  Revocation: open({
    token: string(),
    'token_type_hint?': string('`access_token` or `refresh_token`; any other is ignored'),
  }),
  NotRevoked: closed({
    error: { enum: [...TOKEN_ERRORS, 'unsupported'] },
    'removeAt?': string(
      'With `unsupported`: where the user can remove the app, a URL or the way through settings',
    ),
  }),
  Services: closed({
    services: arrayOf(
      closed({
        service: string('The `service` of a start'),
        name: string('What a user sees'),
        blind: {
          enum: ['no', 'can', 'must'],
          description: 'Whether a start may, or must, have a `challenge`',
        },
        revoke: boolean('Whether the relay revokes tokens at the provider'),
      }),
    ),
    extensions: arrayOf(string(), 'Extensions of the protocol that the relay supports'),
  }),
  DeviceAuthorization: closed({
    device_code: schema('Capability', 'Never leaves the device'),
    user_code: schema('UserCode'),
    verification_uri: uri('Where the user types the code'),
    verification_uri_complete: uri('The same with the code in it'),
    expires_in: positive('Lifetime of both codes'),
    interval: positive('Seconds between two polls'),
  }),
  TokenResponse: closed({
    access_token: nonEmpty(),
    token_type: nonEmpty('From the provider, otherwise Bearer'),
    scope: string('From the provider, otherwise empty'),
    'expires_in?': positive(IF_GIVEN),
    'refresh_token?': nonEmpty(IF_GIVEN),
    'id_token?': nonEmpty(IF_GIVEN),
  }),
  OAuthError: closed({
    error: matching('^[a-z_]+$', 'RFC 6749 section 5.2, RFC 8628 section 3.5, or the relay’s own'),
    error_description: string('For developers'),
  }),
  Metadata: closed({
    issuer: uri(),
    device_authorization_endpoint: uri(),
    token_endpoint: uri(),
    grant_types_supported: arrayOf(string()),
    response_types_supported: { type: 'array', maxItems: 0 },
    token_endpoint_auth_methods_supported: arrayOf({ const: 'none' }),
    'revocation_endpoint?': uri('Absent: the relay cannot revoke tokens of this provider'),
    'revocation_endpoint_auth_methods_supported?': arrayOf({ const: 'none' }),
  }),
};
