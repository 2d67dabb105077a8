/** The person's addresses, the pictures and the rest of the API document. docs/person.md, docs/qr.md. */
import { DEFAULT_QR_PX, MAX_QR_PX, MIN_QR_PX } from '../../limits.ts';
import {
  answer,
  EVERYWHERE,
  formBody,
  headOf,
  LOCATION,
  MAY_RETRY,
  notAllowed,
  type Part,
  page,
  parameter,
  preflight,
  RETRY_AFTER,
  UNDISCOVERED,
} from './parts.ts';

/** A form of the page that asks, sent from that page: of another site's nothing comes. */
export const DECIDE = formBody({
  type: 'object',
  properties: { choice: { enum: ['continue', 'decline'] } },
  required: ['choice'],
});

/** Continue leaves cookies, each for one path. */
export const CONTINUED: Part = { ...LOCATION, 'Set-Cookie': { schema: { type: 'string' } } };

const HOME = {
  operationId: 'home',
  summary: 'What this service is, and the code form',
  tags: ['person'],
  responses: { '200': page('The page'), '405': notAllowed('GET, HEAD') },
};

const WRONG_METHOD = notAllowed('GET, HEAD, POST');

const CODE_FORM = {
  operationId: 'codeForm',
  summary: 'Where a person types the code that the device shows',
  tags: ['person'],
  responses: { '200': page('The form'), '405': WRONG_METHOD },
};

const TAKE_CODE: Part = {
  operationId: 'takeCode',
  summary: 'The code that was typed, in any case and with any separators',
  tags: ['person'],
  requestBody: formBody({ type: 'object', properties: { code: { type: 'string' } } }),
  responses: {
    '303': answer('To the address of the code; nothing was looked up', { headers: LOCATION }),
    '400': page('The form again: that is no code'),
    '405': WRONG_METHOD,
    '503': page('A fault'),
  },
};

const CONFIRM: Part = {
  '200': page('Asks whether to go on, or says that it was declined'),
  '400': answer('What is wrong', { texts: ['Invalid client address'] }),
  '404': page('The form again: unknown, expired or used, and nobody is told which'),
  '405': notAllowed('GET, POST'),
  '429': page('Too many codes were tried', RETRY_AFTER),
  '503': page(`A fault. ${UNDISCOVERED}`, MAY_RETRY),
};

/** Once with `/L/`, and once with `/l/` for somebody who types the whole address. */
function describeCode(suffix: string): Part {
  return {
    parameters: [
      parameter('code', 'path', {
        description: 'The user code, in any case and with any separators',
        schema: { type: 'string' },
        example: 'WDJB-MJHT',
      }),
    ],
    get: {
      operationId: `confirm${suffix}`,
      summary: 'Who asks, for which provider, since when; go on or decline',
      description: 'Changes nothing.',
      tags: ['person'],
      responses: {
        ...CONFIRM,
        '302': answer(
          'The code in another spelling: to its own. With CONFIRM=never: to the provider',
          {
            headers: LOCATION,
          },
        ),
      },
    },
    post: {
      operationId: `decide${suffix}`,
      summary: 'The person goes on, or declines; either uses the code up',
      tags: ['person'],
      requestBody: DECIDE,
      responses: {
        ...CONFIRM,
        '303': answer('To the provider. The code in another spelling: to its own, undecided', {
          headers: CONTINUED,
        }),
      },
    },
  };
}

const ONLY_GET = { '405': notAllowed('GET') };

const QR_FILE = parameter('file', 'path', {
  description: 'A user code or a browser state, then `.svg` or `.png`',
  schema: { type: 'string' },
  example: 'WDJB-MJHT.png',
});

const QR: Part = {
  operationId: 'qr',
  summary: 'A sign-in as a picture of a QR code',
  description: 'Of a user code it is drawn whether or not there is such a code.',
  tags: ['device'],
  parameters: [
    parameter('size', 'query', {
      description: 'Width and height at most, in pixels; modules are whole pixels',
      schema: {
        type: 'integer',
        minimum: MIN_QR_PX,
        maximum: MAX_QR_PX,
        default: DEFAULT_QR_PX,
      },
    }),
  ],
  responses: {
    '200': {
      description: 'The picture',
      headers: EVERYWHERE,
      content: { 'image/svg+xml': { schema: { type: 'string' } }, 'image/png': {} },
    },
    '400': answer('What is wrong', { texts: ['Invalid size', 'Invalid client address'] }),
    '404': answer('No such sign-in or format', { texts: ['404 page not found'] }),
    '429': answer('Too many for this address', { texts: ['Rate limited'], headers: RETRY_AFTER }),
    '503': answer('A fault', { texts: ['Server busy'] }),
    ...ONLY_GET,
  },
};

const health = (description: string, word: string): Part => ({
  description,
  headers: EVERYWHERE,
  content: { 'text/plain': { schema: { const: word } } },
});

const HEALTH = {
  operationId: 'health',
  summary: 'Whether requests may be sent here',
  tags: ['service'],
  responses: {
    '200': health('They may', 'ok'),
    '405': notAllowed('GET, HEAD'),
    '503': health('Shutting down', 'draining'),
  },
};

const DOCUMENT: Part = {
  operationId: 'document',
  summary: 'This document',
  tags: ['service'],
  responses: {
    '200': {
      description: 'OpenAPI 3.1',
      headers: EVERYWHERE,
      content: { 'application/json': { schema: { type: 'object' } } },
    },
    ...ONLY_GET,
  },
};

export const PERSON_PATHS: Part = {
  '/': { get: HOME, head: headOf(HOME) },
  '/link': { get: CODE_FORM, head: headOf(CODE_FORM), post: TAKE_CODE },
  '/L/{code}': describeCode(''),
  '/l/{code}': describeCode('Small'),
  '/qr/{file}': { parameters: [QR_FILE], get: QR, options: preflight('qrPreflight', ONLY_GET) },
  '/health': { get: HEALTH, head: headOf(HEALTH) },
  '/openapi.json': { get: DOCUMENT, options: preflight('documentPreflight', ONLY_GET) },
};
