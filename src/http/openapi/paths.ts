/** What devices request, and how the relay responds. docs/protocol.md, docs/device-grant.md. */
import { MAX_WAIT_SECONDS } from '../../limits.ts';
import { MAX_START_BYTES } from '../endpoints/device.ts';
import { DEFAULT_SIZE_PX, MAX_SIZE_PX, MIN_SIZE_PX } from '../endpoints/qr.ts';
import { MAX_TOKEN_REQUEST_BYTES } from '../endpoints/refresh.ts';
import { EXTENSIONS } from '../endpoints/services.ts';
import {
  arrayOf,
  boolean,
  type Element,
  json,
  lines,
  MAY_RETRY_AFTER,
  matching,
  message,
  open,
  query,
  RETRY_AFTER,
  refusals,
  reply,
  schema,
  segment,
  string,
} from './elements.ts';

const SERVICE = string('The name of an enabled provider');
const TOKENS = { accessToken: '…', refreshToken: '…', expiresIn: 3600 };

const body = (limitBytes: number, schema: Element, example: unknown) => ({
  required: true,
  description: `At most ${limitBytes} bytes are read; the content type does not matter.`,
  content: json(schema, example),
});

/** Refusals of a request that the provider may refuse too. */
const WRONG_REQUEST = lines('invalid_client_address', 'invalid_json', 'unknown_service');

/** One method of a path. */
const device = (method: 'get' | 'post', { operationId, ...operation }: Element) => ({
  [method]: { operationId, tags: ['device'], ...operation },
});

const devicePaths = {
  '/auth/start': device('post', {
    operationId: 'start',
    summary: 'Starts a sign-in',
    requestBody: body(
      MAX_START_BYTES,
      open({
        service: SERVICE,
        'code?': boolean('Also return a user code and a short link'),
        'ack?': boolean('Keep the result until it is acknowledged'),
        'device?': string('Shown on the confirmation page; at most 40 characters are kept'),
        'details?': boolean('Also return `tokenType`, `scope` and `idToken`'),
        'challenge?': matching(
          '^[A-Za-z0-9_-]{43}$',
          'S256 of RFC 7636: the result is the code, which the device exchanges itself',
        ),
      }),
      { service: 'mal', code: true, ack: true, device: 'Living room' },
    ),
    responses: {
      200: reply('Started', 'Started', {
        session: 'kq0Vd3yQm8sT1uWx5zAbC7eF',
        url: '{{BASE_URL}}/auth/mal?state=Zr4nB8vL2pXc6tYh0wGj9sKd',
        expiresIn: 600,
        userCode: 'WDJB-MJHT',
        link: '{{BASE_URL}}/L/WDJB-MJHT',
        qr: '{{BASE_URL}}/qr/WDJB-MJHT.png',
      }),
      ...refusals(
        'invalid_client_address',
        'invalid_json',
        'unknown_service',
        'invalid_challenge',
        'challenge_not_supported',
        'challenge_required',
        'origin_not_allowed',
        'rate_limited',
        'busy',
      ),
    },
  }),
  '/auth/result': device('get', {
    operationId: 'result',
    summary: 'The device waits for its tokens',
    description: `Held until the sign-in ends, for at most ${MAX_WAIT_SECONDS} seconds. Without \`ack\` at the start the result is delivered once: then, as after a cancellation or the end of the session, polls get a 410. A 503 is only for \`ack=1\` and \`cancel=1\`: repeat it.`,
    parameters: [
      { ...query('session', 'The poll secret'), required: true },
      query('wait', 'Hold the poll for at most this many seconds; 0 returns at once', {
        type: 'integer',
        minimum: 0,
        maximum: MAX_WAIT_SECONDS,
      }),
      query('ack', 'With 1: acknowledges the result, which the relay then removes'),
      query('progress', 'With 1: also return when the user has opened the link, once a session'),
      query('cancel', 'With 1: cancels the sign-in'),
    ],
    responses: {
      200: message(
        'The sign-in has ended. With `progress=1` also: poll again at once',
        json({ oneOf: [schema('Result'), schema('Progress')] }, TOKENS),
      ),
      204: message('Not yet: poll again at once. Or acknowledged, or cancelled'),
      ...refusals('invalid_wait', 'session_not_found', 'busy'),
    },
  }),
  '/refresh': device('post', {
    operationId: 'refresh',
    summary: 'Refreshes tokens',
    description: 'After a 503 the refresh token may still be valid.',
    requestBody: body(
      MAX_TOKEN_REQUEST_BYTES,
      open({
        service: SERVICE,
        refreshToken: string(),
        'scope?': string('Fewer scopes, as the provider writes them'),
        'details?': boolean('Also return `tokenType`, `scope` and `idToken`'),
      }),
      { service: 'mal', refreshToken: '…' },
    ),
    responses: {
      200: reply('New tokens', 'Tokens', TOKENS),
      400: message('Only `invalid_grant` means that the user has to sign in again', {
        ...json(schema('Refused'), { error: 'invalid_grant' }),
        ...WRONG_REQUEST,
      }),
      ...refusals('origin_not_allowed', 'rate_limited', 'undecided'),
    },
  }),
  '/revoke': device('post', {
    operationId: 'revoke',
    summary: 'Revokes tokens at the provider: the user signs out',
    description:
      'Needs at least one token. May be repeated: it succeeds too if the provider does not know the tokens. After a 503 they may still be valid.',
    requestBody: body(
      MAX_TOKEN_REQUEST_BYTES,
      open({ service: SERVICE, 'refreshToken?': string(), 'accessToken?': string() }),
      { service: 'google', refreshToken: '…', accessToken: '…' },
    ),
    responses: {
      200: message(
        'The provider no longer accepts the tokens',
        json({ type: 'object', additionalProperties: false }, {}),
      ),
      400: message('`unsupported` if the provider has no revocation endpoint', {
        ...json(schema('NotRevoked'), {
          error: 'unsupported',
          removeAt: 'https://anilist.co/settings/apps',
        }),
        ...WRONG_REQUEST,
      }),
      ...refusals('origin_not_allowed', 'rate_limited', 'undecided'),
    },
  }),
  '/services': device('get', {
    operationId: 'services',
    summary: 'The providers and extensions of this relay',
    responses: {
      200: reply('In the order of PROVIDERS', 'Services', {
        services: [{ service: 'mal', name: 'MyAnimeList', blind: 'no', revoke: false }],
        extensions: EXTENSIONS,
      }),
    },
  }),
  '/open': device('post', {
    operationId: 'openStart',
    summary: 'Starts an open sign-in, if the operator sets OPEN_ENDPOINTS (docs/open.md)',
    requestBody: message(
      'At most 4 KiB are read.',
      json(
        open({
          authorizationUrl: {
            type: 'string',
            maxLength: 2_000,
            description:
              "The client's authorization request, with PKCE S256. Its redirect_uri and state are replaced",
          },
          'code?': boolean(),
          'ack?': boolean(),
          'device?': string(),
        }),
      ),
    ),
    responses: {
      200: message('Started', json({ ...schema('Started'), required: ['redirectUri'] })),
      400: message('What is wrong', { 'text/plain': { schema: string() } }),
      ...refusals('origin_not_allowed', 'rate_limited', 'busy'),
    },
  }),
  '/open/client.json': device('get', {
    operationId: 'openClient',
    summary: 'A client id that nobody registers: a client metadata document',
    responses: {
      200: message(
        "The metadata of a public client with this relay's redirect URI",
        json(
          open({
            client_id: string(),
            redirect_uris: arrayOf(string()),
            token_endpoint_auth_method: { const: 'none' },
          }),
        ),
      ),
    },
  }),
  '/qr/{file}': {
    parameters: [
      segment('file', 'A user code or a browser state, then `.svg` or `.png`', 'WDJB-MJHT.png'),
    ],
    ...device('get', {
      operationId: 'qr',
      summary: "The QR code of a sign-in's link",
      description: 'A user code is not looked up, so any code is drawn.',
      parameters: [
        query('size', 'Maximum width and height in pixels; modules are whole pixels', {
          type: 'integer',
          minimum: MIN_SIZE_PX,
          maximum: MAX_SIZE_PX,
          default: DEFAULT_SIZE_PX,
        }),
      ],
      responses: {
        200: message('The picture', { 'image/svg+xml': { schema: string() }, 'image/png': {} }),
        ...refusals('invalid_size', 'invalid_client_address', 'not_found', 'rate_limited', 'busy'),
      },
    }),
  },
};

/** RFC 6749 §5.1. */
const NO_CACHE = {
  Pragma: { required: true, description: 'RFC 6749 section 5.1', schema: { const: 'no-cache' } },
};

/** RFC 7240 §3. */
const MAY_APPLY = {
  'Preference-Applied': { description: 'If `Prefer` was applied', schema: matching('^wait=\\d+$') },
};

const oauthReply = (description: string, name: string, example: Element, headers?: Element) =>
  reply(description, name, example, { ...NO_CACHE, ...headers });

const oauthError = (description: string, headers: Element = MAY_RETRY_AFTER) =>
  reply(description, 'OAuthError', undefined, { ...NO_CACHE, ...headers });

/** What standard clients send. */
const formOrJson = (name: string) =>
  message(
    `At most ${MAX_TOKEN_REQUEST_BYTES} bytes. Unknown parameters are ignored, \`client_id\` among them.`,
    { 'application/x-www-form-urlencoded': { schema: schema(name) }, ...json(schema(name)) },
  );

const metadata = (operationId: string, summary: string) => ({
  operationId,
  summary,
  responses: {
    200: oauthReply('Metadata', 'Metadata', {
      issuer: '{{BASE_URL}}/oauth2/mal',
      device_authorization_endpoint: '{{BASE_URL}}/oauth2/mal/device_authorization',
      token_endpoint: '{{BASE_URL}}/oauth2/mal/token',
      grant_types_supported: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
      response_types_supported: [],
      token_endpoint_auth_methods_supported: ['none'],
    }),
  },
});

/** A path for each provider, with one method. */
const ofProvider = (method: 'get' | 'post', operation: Element & { responses: object }) => ({
  parameters: [segment('service', 'The name of an enabled provider', 'mal')],
  [method]: {
    tags: ['device-grant'],
    ...operation,
    responses: { ...operation.responses, 404: oauthError('No such provider') },
  },
});

const grantPaths = {
  '/oauth2/{service}/device_authorization': ofProvider('post', {
    operationId: 'deviceAuthorization',
    summary: 'Device authorization (RFC 8628 section 3.1)',
    requestBody: formOrJson('DeviceAuthorizationRequest'),
    responses: {
      200: oauthReply('Started', 'DeviceAuthorization', {
        device_code: 'kq0Vd3yQm8sT1uWx5zAbC7eF',
        user_code: 'WDJB-MJHT',
        verification_uri: '{{BASE_URL}}/link',
        verification_uri_complete: '{{BASE_URL}}/L/WDJB-MJHT',
        expires_in: 600,
        interval: 5,
      }),
      400: oauthError('`slow_down` after too many starts from one address'),
      503: oauthError('The relay is shutting down, or the provider is not discovered yet'),
      ...refusals('origin_not_allowed'),
    },
  }),
  '/oauth2/{service}/token': ofProvider('post', {
    operationId: 'token',
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
    requestBody: formOrJson('TokenRequest'),
    responses: {
      200: oauthReply(
        'For a while after the first delivery the same device code gets the tokens again',
        'TokenResponse',
        { access_token: '…', token_type: 'Bearer', scope: '' },
        MAY_APPLY,
      ),
      400: oauthError('An error that ends the sign-in is repeated until the session expires', {
        ...MAY_RETRY_AFTER,
        ...MAY_APPLY,
      }),
      429: oauthError('Too many refreshes from this address'),
      503: oauthError('The provider did not respond to a refresh'),
      ...refusals('origin_not_allowed'),
    },
  }),
  '/oauth2/{service}/revoke': ofProvider('post', {
    operationId: 'revocation',
    summary: 'Revokes a token at the provider (RFC 7009)',
    description: 'May be repeated: it succeeds too if the provider does not know the token.',
    requestBody: formOrJson('Revocation'),
    responses: {
      200: message('The provider no longer accepts the token', undefined, NO_CACHE),
      400: oauthError('`unsupported_token_type` if the provider has no revocation endpoint'),
      429: oauthError('Too many from this address', RETRY_AFTER),
      503: oauthError('The token may still be valid', RETRY_AFTER),
      ...refusals('origin_not_allowed'),
    },
  }),
  '/oauth2/{service}/.well-known/openid-configuration': ofProvider(
    'get',
    metadata('openidConfiguration', 'The same metadata at the path of OpenID Connect'),
  ),
  '/.well-known/oauth-authorization-server{{BASE_PATH}}/oauth2/{service}': {
    servers: [{ url: '{{ORIGIN}}' }],
    ...ofProvider('get', metadata('metadata', 'Metadata (RFC 8414)')),
  },
};

export const paths = { ...devicePaths, ...grantPaths };
