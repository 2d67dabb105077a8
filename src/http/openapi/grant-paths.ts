/** The device grant for standard clients. docs/device-grant.md. */
import { MAX_TOKEN_REQUEST_BYTES } from '../endpoints/refresh.ts';
import {
  body,
  formOrJson,
  header,
  json,
  message,
  NO_CACHE,
  parameter,
  response,
  schema,
  string,
} from './elements.ts';

const BODY = `At most ${MAX_TOKEN_REQUEST_BYTES} bytes, as a form or as JSON. Unknown parameters are ignored, \`client_id\` among them.`;

export const grantPaths = {
  '/oauth2/{service}/device_authorization': {
    parameters: [parameter('Service')],
    post: {
      operationId: 'deviceAuthorization',
      tags: ['device-grant'],
      summary: 'Device authorization (RFC 8628 section 3.1)',
      requestBody: message(BODY, formOrJson('DeviceAuthorizationRequest')),
      responses: {
        200: message(
          'Started',
          json(schema('DeviceAuthorization'), {
            DeviceAuthorization: {
              device_code: 'kq0Vd3yQm8sT1uWx5zAbC7eF',
              user_code: 'WDJB-MJHT',
              verification_uri: '{{ORIGIN}}/link',
              verification_uri_complete: '{{ORIGIN}}/L/WDJB-MJHT',
              expires_in: 600,
              interval: 5,
            },
          }),
          NO_CACHE,
        ),
        400: response(
          'OAuthError',
          '`invalid_request`; `slow_down` after too many starts from one address; `temporarily_unavailable`',
        ),
        403: response('OriginNotAllowed'),
        404: response('NoSuchProvider'),
        503: response('OAuthError', 'The provider is not discovered yet'),
      },
    },
  },
  '/oauth2/{service}/token': {
    parameters: [parameter('Service')],
    post: {
      operationId: 'token',
      tags: ['device-grant'],
      summary: 'A device polls (RFC 8628 section 3.4), or refreshes (RFC 6749 section 6)',
      parameters: [
        {
          name: 'Prefer',
          in: 'header',
          description: '`wait=N` holds a poll for at most N seconds (RFC 7240 section 4.3)',
          schema: string(),
          example: 'wait=30',
        },
      ],
      requestBody: body(BODY, formOrJson('TokenRequest')),
      responses: {
        200: message(
          'Tokens, as the provider gave them. For a while after the first delivery the same device code gets them again',
          json(schema('TokenResponse'), {
            TokenResponse: { access_token: '…', token_type: 'Bearer', scope: '', expires_in: 3600 },
          }),
          { Pragma: header('NoCache'), 'Preference-Applied': header('PreferenceApplied') },
        ),
        400: message(
          '`authorization_pending`, `slow_down`, `access_denied`, `expired_token` and the errors of RFC 6749 section 5.2; `authorization_failed`, `missing_code` and `exchange_failed` as at `/auth/result`. An error that ends the sign-in is repeated until the session expires',
          json(schema('OAuthError')),
          {
            Pragma: header('NoCache'),
            'Preference-Applied': header('PreferenceApplied'),
            'Retry-After': header('RetryAfterOptional'),
          },
        ),
        404: response('NoSuchProvider'),
        429: response('OAuthError', 'Too many refreshes from this address'),
        503: response('OAuthError', 'The provider did not respond to a refresh'),
      },
    },
  },
  '/oauth2/{service}/revoke': {
    parameters: [parameter('Service')],
    post: {
      operationId: 'revocation',
      tags: ['device-grant'],
      summary: 'Revokes a token at the provider (RFC 7009)',
      description:
        'May be repeated: it succeeds too if the provider does not know the token, or no longer does.',
      requestBody: body(BODY, formOrJson('Revocation')),
      responses: {
        200: message('The provider no longer accepts the token', undefined, NO_CACHE),
        400: response(
          'OAuthError',
          '`unsupported_token_type` if the provider has no revocation endpoint, and the errors of RFC 6749 section 5.2',
        ),
        404: response('NoSuchProvider'),
        429: response('OAuthErrorForNow', 'Too many from this address'),
        503: response(
          'OAuthErrorForNow',
          'The provider did not respond, or did not decide. The token may still be valid',
        ),
      },
    },
  },
  '/oauth2/{service}/.well-known/openid-configuration': {
    parameters: [parameter('Service')],
    get: {
      operationId: 'openidConfiguration',
      tags: ['device-grant'],
      summary: 'The same metadata at the path of OpenID Connect',
      responses: { 200: response('Metadata'), 404: response('NoSuchProvider') },
    },
  },
  '/.well-known/oauth-authorization-server{{BASE_PATH}}/oauth2/{service}': {
    servers: [{ url: '{{ORIGIN}}' }],
    parameters: [parameter('Service')],
    get: {
      operationId: 'metadata',
      tags: ['device-grant'],
      summary: 'Metadata (RFC 8414)',
      responses: { 200: response('Metadata'), 404: response('NoSuchProvider') },
    },
  },
};
