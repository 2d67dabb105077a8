/** The addresses of the specification's door in the API document. docs/protocol.md. */
import { MAX_WAIT_SECONDS, SHOWN_NAME_CHARACTERS, START_BODY_BYTES } from '../../limits.ts';
import {
  answer,
  LOCATION,
  MAY_RETRY,
  notAllowed,
  type Part,
  page,
  parameter,
  preflight,
  RETRY_AFTER,
  SERVICE,
  UNDISCOVERED,
} from './parts.ts';
import { CONTINUED, DECIDE } from './person.ts';

const STARTED = {
  session: 'kq0Vd3yQm8sT1uWx5zAbC7eF',
  url: 'https://relay.example/auth/mal?state=Zr4nB8vL2pXc6tYh0wGj9sKd',
  expiresIn: 600,
};

const WITH_CODE = {
  ...STARTED,
  userCode: 'WDJB-MJHT',
  link: 'https://relay.example/L/WDJB-MJHT',
  qr: 'https://relay.example/qr/WDJB-MJHT.png',
};

const START: Part = {
  operationId: 'start',
  summary: 'A device asks for a link',
  tags: ['device'],
  requestBody: {
    required: true,
    description: `At most ${START_BODY_BYTES} bytes are read; the content type does not matter.`,
    content: {
      'application/json': {
        schema: {
          type: 'object',
          properties: {
            service: { type: 'string', description: 'The name of an enabled provider' },
            code: { type: 'boolean', description: 'Give a user code and a short link besides' },
            ack: { type: 'boolean', description: 'Keep the result until it is confirmed' },
            device: {
              type: 'string',
              description: `Shown to a person who is asked; ${SHOWN_NAME_CHARACTERS} characters are kept`,
            },
          },
          required: ['service'],
        },
        examples: {
          plain: { value: { service: 'mal' } },
          withCode: { value: { service: 'mal', code: true, ack: true, device: 'Living room' } },
        },
      },
    },
  },
  responses: {
    '200': answer('Begun', {
      json: { schema: 'Started', examples: { plain: STARTED, withCode: WITH_CODE } },
    }),
    '400': answer('What is wrong', {
      texts: ['Invalid client address', 'Invalid JSON', 'Unknown service'],
    }),
    '405': notAllowed('POST'),
    '429': answer('Too many from this address', { texts: ['Rate limited'], headers: RETRY_AFTER }),
    '503': answer(`Full, or shutting down. ${UNDISCOVERED}`, {
      texts: ['Server busy'],
      headers: MAY_RETRY,
    }),
  },
};

const RESULT: Part = {
  operationId: 'result',
  summary: 'The device waits for its tokens',
  description:
    'Held until the sign-in ends, 50 seconds at most. The poll secret is all that is needed, so it must reach nobody else. Without `ack` at the start the result is given once.',
  tags: ['device'],
  parameters: [
    parameter('session', 'query', {
      required: true,
      description: 'The poll secret',
      schema: { type: 'string' },
    }),
    parameter('wait', 'query', {
      description: 'To be held for so many seconds at most; 0 answers at once',
      schema: { type: 'integer', minimum: 0, maximum: MAX_WAIT_SECONDS },
    }),
    parameter('ack', 'query', {
      description: 'With 1: the result has arrived and may be forgotten',
      schema: { type: 'string' },
    }),
  ],
  responses: {
    '200': answer('The sign-in has ended', {
      json: {
        schema: 'Result',
        examples: {
          tokens: { accessToken: '…', refreshToken: '…', expiresIn: 3_600 },
          failed: { error: 'access_denied' },
        },
      },
    }),
    '204': answer('Not yet: ask again at once. With `ack=1`: understood'),
    '400': answer('What is wrong', { texts: ['Invalid wait: a whole number from 0 to 50'] }),
    '405': notAllowed('GET'),
    '410': answer('Unknown, expired, or already handed out', { texts: ['Session not found'] }),
    '503': answer('To `ack=1` only: not known whether it was carried out. Repeat it', {
      texts: ['Server busy'],
    }),
  },
};

const STATE = parameter('state', 'query', {
  description: 'The browser state. Whoever has the link may sign in with it, and do nothing else',
  schema: { type: 'string' },
});

const BROWSER_REFUSALS: Part = {
  '404': answer(
    'The link is no longer valid, or not in this browser, or there is no such provider',
    {
      isPage: true,
      texts: ['404 page not found'],
    },
  ),
  '503': page(`A fault, or shutting down. ${UNDISCOVERED}`, MAY_RETRY),
};

const AUTHORIZE: Part = {
  '200': page('With CONFIRM=always: asks whether to go on, or says that it was declined'),
  '405': notAllowed('GET', 'GET, POST'),
  ...BROWSER_REFUSALS,
};

const CALLBACK: Part = {
  operationId: 'callback',
  summary: 'The provider sends the person back here',
  description:
    'With CONFIRM=always only the browser that continued is heard: it has a cookie for this address, whose name is made from the browser state.',
  tags: ['person'],
  parameters: [
    STATE,
    parameter('code', 'query', { schema: { type: 'string' } }),
    parameter('error', 'query', { schema: { type: 'string' } }),
  ],
  responses: {
    '200': page('Signed in, or cancelled, or failed at the provider'),
    '400': page('Neither code nor error'),
    '405': notAllowed('GET'),
    '502': page('The provider gave no tokens for the code'),
    ...BROWSER_REFUSALS,
  },
};

const DONE: Part = {
  operationId: 'done',
  summary: 'The page "Signed in", for other flows that need somewhere to end',
  tags: ['person'],
  responses: {
    '200': page('Signed in'),
    '405': notAllowed('GET'),
  },
};

export const AUTH_PATHS: Part = {
  '/auth/start': {
    post: START,
    options: preflight('startPreflight', { '405': notAllowed('POST') }),
  },
  '/auth/result': {
    get: RESULT,
    options: preflight('resultPreflight', { '405': notAllowed('GET') }),
  },
  '/auth/{service}': {
    parameters: [SERVICE, STATE],
    get: {
      operationId: 'authorize',
      summary: 'The link: sends the person to the provider',
      description: 'Changes nothing, so a preview of the link does no harm.',
      tags: ['person'],
      responses: { '302': answer('To the provider', { headers: LOCATION }), ...AUTHORIZE },
    },
    post: {
      operationId: 'decideByLink',
      summary: 'With CONFIRM=always: the person goes on, or declines',
      tags: ['person'],
      requestBody: DECIDE,
      responses: { '303': answer('To the provider', { headers: CONTINUED }), ...AUTHORIZE },
    },
  },
  '/auth/{service}/callback': { parameters: [SERVICE], get: CALLBACK },
  '/auth/done': { get: DONE },
};
