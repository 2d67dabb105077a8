/** What devices use, and how the relay responds. docs/protocol.md, docs/extensions.md. */

import { MAX_WAIT_SECONDS } from '../../limits.ts';
import { DEFAULT_SIZE_PX, MAX_SIZE_PX, MIN_SIZE_PX } from '../endpoints/qr.ts';
import { MAX_TOKEN_REQUEST_BYTES } from '../endpoints/refresh.ts';
import { EXTENSIONS } from '../endpoints/services.ts';
import { MAX_START_BYTES } from '../endpoints/start.ts';
import {
  arrayOf,
  body,
  boolean,
  json,
  matching,
  message,
  open,
  query,
  refusal,
  response,
  schema,
  string,
  textOf,
} from './elements.ts';

const SERVICE = string('The name of an enabled provider');
const TOKENS = { accessToken: '…', refreshToken: '…', expiresIn: 3600 };

export const devicePaths = {
  '/auth/start': {
    post: {
      operationId: 'start',
      tags: ['device'],
      summary: 'Starts a sign-in',
      requestBody: body(
        `At most ${MAX_START_BYTES} bytes are read; the content type does not matter.`,
        json(
          open({
            service: SERVICE,
            'code?': boolean('Also return a user code and a short link'),
            'ack?': boolean('Keep the result until it is acknowledged'),
            'device?': string('Shown on the confirmation page; at most 40 characters are kept'),
            'details?': boolean(
              'Also return `tokenType`, `scope` and `idToken`, if the provider gave them',
            ),
            'challenge?': matching(
              '^[A-Za-z0-9_-]{43}$',
              'SHA-256 of a verifier that stays on the device (RFC 7636, S256). The result is then the code, which the device exchanges itself',
            ),
          }),
          {
            plain: { service: 'mal' },
            withCode: { service: 'mal', code: true, ack: true, device: 'Living room' },
            withChallenge: {
              service: 'mal',
              challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
            },
          },
        ),
      ),
      responses: {
        200: message(
          'Started',
          json(schema('Started'), {
            plain: {
              session: 'kq0Vd3yQm8sT1uWx5zAbC7eF',
              url: '{{ORIGIN}}/auth/mal?state=Zr4nB8vL2pXc6tYh0wGj9sKd',
              expiresIn: 600,
            },
            withCode: {
              session: 'kq0Vd3yQm8sT1uWx5zAbC7eF',
              url: '{{ORIGIN}}/auth/mal?state=Zr4nB8vL2pXc6tYh0wGj9sKd',
              expiresIn: 600,
              userCode: 'WDJB-MJHT',
              link: '{{ORIGIN}}/L/WDJB-MJHT',
              qr: '{{ORIGIN}}/qr/WDJB-MJHT.png',
            },
          }),
        ),
        400: message(
          'What is wrong',
          refusal(
            'invalid_client_address',
            'invalid_json',
            'unknown_service',
            'invalid_challenge',
            'challenge_not_supported',
            'challenge_required',
          ),
        ),
        403: response('OriginNotAllowed'),
        429: response('RateLimited'),
        503: response('Busy', 'Full, or shutting down, or the provider is not discovered yet'),
      },
    },
  },
  '/auth/result': {
    get: {
      operationId: 'result',
      tags: ['device'],
      summary: 'The device waits for its tokens',
      description: `Held until the sign-in ends, for at most ${MAX_WAIT_SECONDS} seconds. The poll secret alone gives access, so keep it on the device. Without \`ack\` at the start the result is delivered once.`,
      parameters: [
        {
          name: 'session',
          in: 'query',
          required: true,
          description: 'The poll secret',
          schema: string(),
        },
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
          'The sign-in has ended. With `progress=1` also: the user has opened the link, poll again at once',
          json(
            { oneOf: [schema('Result'), schema('Progress')] },
            {
              tokens: TOKENS,
              failed: { error: 'access_denied' },
              details: { accessToken: '…', tokenType: 'Bearer', scope: 'read', idToken: '…' },
              code: {
                code: '…',
                tokenUrl: 'https://provider.example/token',
                clientId: 'relay',
                redirectUri: '{{BASE_URL}}/auth/mal/callback',
              },
              opened: { progress: 'opened' },
            },
          ),
        ),
        204: {
          description:
            'Not yet: poll again at once. With `ack=1`: acknowledged. With `cancel=1`: cancelled',
        },
        400: message('What is wrong', refusal('invalid_wait')),
        410: message(
          'Unknown, expired, cancelled, or already delivered',
          refusal('session_not_found'),
        ),
        503: response(
          'Busy',
          'Only for `ack=1` and `cancel=1`: it is unknown whether it took effect. Repeat it',
        ),
      },
    },
  },
  '/refresh': {
    post: {
      operationId: 'refresh',
      tags: ['device'],
      summary: 'Refreshes tokens',
      requestBody: body(
        `At most ${MAX_TOKEN_REQUEST_BYTES} bytes; the content type does not matter.`,
        json(
          open({
            service: SERVICE,
            refreshToken: string(),
            'scope?': string('Fewer scopes, as the provider writes them'),
            'details?': boolean('As at the start'),
          }),
          { plain: { service: 'mal', refreshToken: '…' } },
        ),
      ),
      responses: {
        200: message(
          'New tokens',
          json(schema('Tokens'), {
            tokens: TOKENS,
          }),
        ),
        400: message(
          "The provider's error as JSON, or what is wrong with the request. Only `invalid_grant` means that the user has to sign in again",
          {
            ...json(schema('Refused'), { refused: { error: 'invalid_grant' } }),
            ...textOf(schema('InvalidRequest')),
          },
        ),
        429: response('RateLimited'),
        503: response('ProviderBusy'),
      },
    },
  },
  '/revoke': {
    post: {
      operationId: 'revoke',
      tags: ['device'],
      summary: 'Revokes tokens at the provider: the user signs out',
      description:
        'May be repeated: it succeeds too if the provider does not know the tokens, or no longer does.',
      requestBody: body(
        `At least one token. At most ${MAX_TOKEN_REQUEST_BYTES} bytes; the content type does not matter.`,
        json(
          open({
            service: SERVICE,
            'refreshToken?': string(),
            'accessToken?': string(),
          }),
          { plain: { service: 'google', refreshToken: '…', accessToken: '…' } },
        ),
      ),
      responses: {
        200: message(
          'The provider no longer accepts the tokens',
          json({ type: 'object', additionalProperties: false }, { revoked: {} }),
        ),
        400: message(
          "`unsupported` if the provider has no revocation endpoint, the provider's error, or what is wrong with the request",
          {
            ...json(schema('NotRevoked'), {
              unsupported: { error: 'unsupported', removeAt: 'https://anilist.co/settings/apps' },
            }),
            ...textOf(schema('InvalidRequest')),
          },
        ),
        429: response('RateLimited'),
        503: response('ProviderBusy'),
      },
    },
  },
  '/services': {
    get: {
      operationId: 'services',
      tags: ['device'],
      summary: 'The providers and extensions of this relay',
      responses: {
        200: message(
          'Enabled providers and extensions',
          json(schema('Services'), {
            services: {
              services: [{ service: 'mal', name: 'MyAnimeList', blind: 'no', revoke: false }],
              extensions: EXTENSIONS,
            },
          }),
        ),
      },
    },
  },
  '/open': {
    post: {
      operationId: 'openStart',
      tags: ['device'],
      summary: 'Starts an open sign-in, if the operator sets OPEN_ENDPOINTS (docs/open.md)',
      requestBody: message(
        'At most 4 KiB are read.',
        json(
          open({
            authorizationUrl: {
              type: 'string',
              maxLength: 2_000,
              description:
                "The client's authorization request (RFC 6749 section 4.1.1), with PKCE S256. Its redirect_uri and state are replaced",
            },
            'code?': boolean(),
            'ack?': boolean(),
            'device?': string(),
          }),
        ),
      ),
      responses: {
        200: message('Started', json({ ...schema('Started'), required: ['redirectUri'] })),
        400: message('What is wrong', textOf(string())),
        403: response('OriginNotAllowed'),
        429: response('RateLimited'),
        503: response('Busy'),
      },
    },
  },
  '/open/client.json': {
    get: {
      operationId: 'openClient',
      tags: ['device'],
      summary: 'A client id that nobody registers: a client metadata document',
      responses: {
        200: message(
          "Of a public client whose redirect URI is this relay's",
          json(
            open({
              client_id: string(),
              redirect_uris: arrayOf(string()),
              token_endpoint_auth_method: { const: 'none' },
            }),
          ),
        ),
      },
    },
  },
  '/qr/{file}': {
    parameters: [
      {
        name: 'file',
        in: 'path',
        required: true,
        description: 'A user code or a browser state, then `.svg` or `.png`',
        schema: string(),
        example: 'WDJB-MJHT.png',
      },
    ],
    get: {
      operationId: 'qr',
      tags: ['device'],
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
        400: message('What is wrong', refusal('invalid_size', 'invalid_client_address')),
        404: message('No such sign-in or format', refusal('not_found')),
        429: response('RateLimited'),
        503: response('Busy', 'A fault'),
      },
    },
  },
};
