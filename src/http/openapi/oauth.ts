/** The addresses of the door of RFC 8628 in the API document. */
import { DEVICE_POLL_INTERVAL_SECONDS, OAUTH_BODY_BYTES } from '../../limits.ts';
import {
  type Answer,
  answer,
  formBody,
  MAY_RETRY,
  type Part,
  parameter,
  preflight,
  SERVICE,
  UNDISCOVERED,
} from './parts.ts';

const NO_CACHE: Part = { Pragma: { $ref: '#/components/headers/NoCache' } };

function json(description: string, schema: string, example: Part, headers: Part = {}): Part {
  const body: Answer['json'] = { schema, examples: { [schema]: example } };
  return answer(description, { json: body, headers: { ...NO_CACHE, ...headers } });
}

function failed(description: string, error: string, headers: Part = {}): Part {
  return json(description, 'OAuthError', { error, error_description: 'In words' }, headers);
}

const APPLIED: Part = {
  'Preference-Applied': { $ref: '#/components/headers/PreferenceApplied' },
};

function refusals(method: 'GET' | 'POST'): Part {
  const allow = { Allow: { required: true, schema: { const: method } } };
  return {
    '404': failed('No such provider', 'not_found'),
    '405': failed('Another method', 'method_not_allowed', allow),
  };
}

const BODY_LIMIT = `At most ${OAUTH_BODY_BYTES} bytes, as a form or as JSON. Unknown parameters are ignored, \`client_id\` among them.`;

const DEVICE_AUTHORIZATION: Part = {
  operationId: 'deviceAuthorization',
  summary: 'A device asks for its codes (RFC 8628 section 3.1)',
  tags: ['device-grant'],
  requestBody: {
    description: BODY_LIMIT,
    ...formBody(
      {
        type: 'object',
        properties: { device: { type: 'string', description: 'Shown to the person' } },
      },
      ['application/json'],
    ),
  },
  responses: {
    '200': json('Begun', 'DeviceAuthorization', {
      device_code: 'kq0Vd3yQm8sT1uWx5zAbC7eF',
      user_code: 'WDJB-MJHT',
      verification_uri: 'https://relay.example/link',
      verification_uri_complete: 'https://relay.example/L/WDJB-MJHT',
      expires_in: 600,
      interval: DEVICE_POLL_INTERVAL_SECONDS,
    }),
    '400': failed(
      '`invalid_request`; `slow_down` of an address that begins too many; `temporarily_unavailable`',
      'temporarily_unavailable',
      MAY_RETRY,
    ),
    '503': failed(UNDISCOVERED, 'temporarily_unavailable', MAY_RETRY),
    ...refusals('POST'),
  },
};

const TOKEN: Part = {
  operationId: 'token',
  summary: 'A device polls (RFC 8628 section 3.4), or refreshes (RFC 6749 section 6)',
  tags: ['device-grant'],
  parameters: [
    parameter('Prefer', 'header', {
      description: '`wait=N` holds a poll so many seconds at most (RFC 7240 section 4.3)',
      schema: { type: 'string' },
      example: 'wait=30',
    }),
  ],
  requestBody: {
    required: true,
    description: BODY_LIMIT,
    ...formBody(
      {
        type: 'object',
        properties: {
          grant_type: {
            enum: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
          },
          device_code: { type: 'string' },
          refresh_token: { type: 'string' },
          scope: { type: 'string', description: 'Fewer scopes, when refreshing' },
        },
        required: ['grant_type'],
      },
      ['application/json'],
    ),
  },
  responses: {
    '200': json(
      'Tokens, as the provider gave them. For a while after the first delivery the same device code gets them again',
      'TokenResponse',
      { access_token: '…', token_type: 'Bearer', scope: '', expires_in: 3_600 },
      APPLIED,
    ),
    '400': failed(
      '`authorization_pending`, `slow_down`, `access_denied`, `expired_token` and the errors of RFC 6749 section 5.2; `authorization_failed`, `missing_code` and `exchange_failed` as at `/auth/result`. An error that ends the sign-in is told again until it expires',
      'authorization_pending',
      { ...APPLIED, ...MAY_RETRY },
    ),
    '429': failed('An address that refreshes too much', 'slow_down', MAY_RETRY),
    '503': failed(
      'The provider of a refresh cannot be asked',
      'temporarily_unavailable',
      MAY_RETRY,
    ),
    ...refusals('POST'),
  },
};

function metadata(operationId: string, summary: string): Part {
  return {
    operationId,
    summary,
    tags: ['device-grant'],
    responses: {
      '200': json('Metadata', 'Metadata', {
        issuer: 'https://relay.example/oauth2/mal',
        device_authorization_endpoint: 'https://relay.example/oauth2/mal/device_authorization',
        token_endpoint: 'https://relay.example/oauth2/mal/token',
        grant_types_supported: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
        response_types_supported: [],
        token_endpoint_auth_methods_supported: ['none'],
      }),
      ...refusals('GET'),
    },
  };
}

/** `origin` and `basePath` are those of the relay: RFC 8414 §3 puts one address before its path. */
export function describeOAuthPaths(origin: string, basePath: string): Part {
  const item = (method: 'get' | 'post', operation: Part, rest: Part = {}): Part => ({
    ...rest,
    parameters: [SERVICE],
    [method]: operation,
    options: preflight(
      `${operation.operationId}Preflight`,
      refusals(method === 'get' ? 'GET' : 'POST'),
    ),
  });
  const rfc8414 = metadata('metadata', 'What a client reads first (RFC 8414)');
  const openid = metadata('openidConfiguration', 'The same, where OpenID Connect has it');
  return {
    '/oauth2/{service}/device_authorization': item('post', DEVICE_AUTHORIZATION),
    '/oauth2/{service}/token': item('post', TOKEN),
    '/oauth2/{service}/.well-known/openid-configuration': item('get', openid),
    [`/.well-known/oauth-authorization-server${basePath}/oauth2/{service}`]: item('get', rfc8414, {
      servers: [{ url: origin }],
    }),
  };
}
