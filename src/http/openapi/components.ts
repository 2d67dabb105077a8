/** What the paths of the API document have in common. */
import { TOKEN_ERRORS } from '../../monitor.ts';
import {
  arrayOf,
  boolean,
  closed,
  header,
  json,
  linesOf,
  matching,
  message,
  NO_CACHE,
  nonEmpty,
  open,
  positive,
  refusal,
  schema,
  string,
  uri,
} from './elements.ts';

export const components = {
  parameters: {
    Service: {
      name: 'service',
      in: 'path',
      required: true,
      description: 'The name of an enabled provider',
      schema: string(),
      example: 'mal',
    },
  },
  responses: {
    RateLimited: message('Too many from this address', refusal('rate_limited'), {
      'Retry-After': header('RetryAfter'),
    }),
    OriginNotAllowed: message(
      'A web page of another site, which `CORS_ORIGINS` does not list',
      refusal('origin_not_allowed'),
    ),
    OAuthError: message('An error of RFC 6749 section 5.2', json(schema('OAuthError')), {
      Pragma: header('NoCache'),
      'Retry-After': header('RetryAfterOptional'),
    }),
    OAuthErrorForNow: message('An error that may pass', json(schema('OAuthError')), {
      Pragma: header('NoCache'),
      'Retry-After': header('RetryAfter'),
    }),
    NoSuchProvider: message('No such provider', json(schema('OAuthError')), NO_CACHE),
    Metadata: message(
      'Metadata',
      json(schema('Metadata'), {
        Metadata: {
          issuer: '{{ORIGIN}}/oauth2/mal',
          device_authorization_endpoint: '{{ORIGIN}}/oauth2/mal/device_authorization',
          token_endpoint: '{{ORIGIN}}/oauth2/mal/token',
          grant_types_supported: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
          response_types_supported: [],
          token_endpoint_auth_methods_supported: ['none'],
        },
      }),
      NO_CACHE,
    ),
    Busy: message('Full, or shutting down', refusal('busy'), {
      'Retry-After': header('RetryAfterOptional'),
    }),
    ProviderBusy: message(
      'The provider did not respond, or did not decide. The tokens may still be valid',
      refusal('busy'),
      { 'Retry-After': header('RetryAfter') },
    ),
  },
  schemas: {
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
    Capability: matching('^[\\w-]{24}$', '144 random bits in base64url. Whoever has it can use it'),
    UserCode: matching(
      '^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$',
      'RFC 8628 section 6.1',
    ),
    Started: closed({
      session: schema('Capability', 'The poll secret; never leaves the device'),
      url: uri('The link, for the user'),
      'redirectUri?': uri('Of an open sign-in'),
      expiresIn: positive('Lifetime of the session, in seconds'),
      'userCode?': schema('UserCode', 'If the start had `code`'),
      'link?': uri('The short link; if the start had `code`'),
      'qr?': uri('The short link as a QR code; if the start had `code`'),
    }),
    Tokens: closed({
      accessToken: nonEmpty(),
      'refreshToken?': nonEmpty('If the provider gave one'),
      'expiresIn?': positive('If the provider gave it'),
      'tokenType?': nonEmpty('With `details`, if the provider gave one'),
      'scope?': nonEmpty('With `details`, if the provider gave one'),
      'idToken?': nonEmpty('With `details`, if the provider gave one'),
    }),
    Failed: closed({
      error: { enum: ['access_denied', 'authorization_failed', 'missing_code', 'exchange_failed'] },
    }),
    Progress: closed(
      { progress: { const: 'opened' } },
      'The user has opened the link and was redirected to the provider',
    ),
    CallbackQuery: open({
      callback: {
        type: 'object',
        description: "The query of the callback as it came, with the client's own `state`",
        additionalProperties: string(),
      },
      redirectUri: string(),
    }),
    Result: {
      oneOf: [schema('Tokens'), schema('Code'), schema('CallbackQuery'), schema('Failed')],
    },
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
      token_type: nonEmpty('As the provider says, otherwise Bearer'),
      scope: string('As the provider says, otherwise empty'),
      'expires_in?': positive('If the provider gave it'),
      'refresh_token?': nonEmpty('If the provider gave one'),
      'id_token?': nonEmpty('If the provider gave one'),
    }),
    OAuthError: closed({
      error: matching(
        '^[a-z_]+$',
        'RFC 6749 section 5.2, RFC 8628 section 3.5, or one of the relay',
      ),
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
    Code: closed(
      {
        code: nonEmpty(),
        tokenUrl: uri("The provider's token endpoint"),
        clientId: nonEmpty(),
        redirectUri: uri(),
        'revocationUrl?': uri(
          "The provider's revocation endpoint, if a device can use it (RFC 7009 section 2.1)",
        ),
      },
      'If the start had a `challenge`: what the device needs to exchange the code itself (RFC 6749 section 4.1.3, RFC 7636 section 4.5)',
    ),
    Refused: closed({
      error: {
        enum: TOKEN_ERRORS.filter((error) => error !== 'unsupported_token_type'),
        description: 'RFC 6749 section 5.2',
      },
      'error_description?': string("The provider's own words, for logs"),
    }),
    Revocation: open({
      token: string(),
      'token_type_hint?': string('`access_token` or `refresh_token`; any other is ignored'),
    }),
    NotRevoked: closed({
      error: {
        anyOf: [
          schema('Refused/properties/error'),
          {
            enum: ['unsupported', 'unsupported_token_type'],
            description: 'RFC 7009 section 2.2.1, or `unsupported`',
          },
        ],
      },
      'removeAt?': string(
        'With `unsupported`, if it is known: where the user can remove the app at the provider, a URL or the way through its settings',
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
        'In the order of PROVIDERS',
      ),
      extensions: arrayOf(string(), 'Extensions of the protocol that the relay supports'),
    }),
    InvalidRequest: linesOf('invalid_client_address', 'invalid_json', 'unknown_service'),
  },
  headers: {
    NoCache: { required: true, description: 'RFC 6749 section 5.1', schema: { const: 'no-cache' } },
    RetryAfter: { required: true, description: 'Seconds', schema: positive() },
    RetryAfterOptional: { description: 'Seconds', schema: positive() },
    PreferenceApplied: {
      description: 'RFC 7240 section 3, if `Prefer` was applied',
      schema: matching('^wait=\\d+$'),
    },
  },
};
