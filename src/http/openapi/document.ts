/** `GET /openapi.json`: every address of the relay, for programs. The tests hold each answer to it. */
import { jsonTextAnswer } from '../answers.ts';
import { refuseMethod } from '../errors.ts';
import { basePathOf } from '../request-path.ts';
import { AUTH_PATHS } from './auth.ts';
import { HEADERS, SCHEMAS } from './components.ts';
import { describeOAuthPaths } from './oauth.ts';
import { answer, type Part } from './parts.ts';
import { PERSON_PATHS } from './person.ts';

/** Made once: anybody may ask, as often as they like. */
export function createAnswerDocument(baseUrl: string): (method: string) => Response {
  const document = JSON.stringify(describeApi(baseUrl));
  return (method) => (method === 'GET' ? jsonTextAnswer(document) : refuseMethod('GET'));
}

/** As OpenAPI 3.1 has it. */
export function describeApi(baseUrl: string): Part {
  const { origin } = new URL(baseUrl);
  return {
    openapi: '3.1.1',
    info: {
      title: 'Sign-in Relay',
      version: '1',
      summary: 'Lends a browser to devices that have none: OAuth 2.0 sign-in',
      description: ABOUT,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: baseUrl }],
    security: [],
    tags: TAGS,
    paths: { ...AUTH_PATHS, ...describeOAuthPaths(origin, basePathOf(baseUrl)), ...PERSON_PATHS },
    components: { schemas: SCHEMAS, headers: HEADERS },
    'x-other-paths': OTHER_PATHS,
    'x-any-path': ANY_PATH,
  };
}

const ABOUT = `Nobody presents credentials. What a request may do is decided by the random secret in it: the poll secret (\`session\`, \`device_code\`) is the only way to the tokens and never leaves the device; the browser state in the link, and the user code, can only sign in. Addresses hold secrets, so nothing is cached and nothing of them should be logged.

A method that an address does not describe is answered as its 405 says. \`x-other-paths\` is what all other addresses answer, and \`x-any-path\` what any address may. Before all that, the server itself refuses a body above 1 MiB (413) and addresses with headers above 16 KiB (431).`;

const TAGS = [
  { name: 'device', description: 'What a device asks for (docs/protocol.md)' },
  { name: 'device-grant', description: 'The same for any client of RFC 8628' },
  { name: 'person', description: "What the person's browser opens" },
  { name: 'web-apps', description: 'Preflights, where CORS_ORIGINS lists the origin' },
  { name: 'service', description: 'About the relay itself' },
];

/** Of those that no path describes. */
const OTHER_PATHS: Part = {
  '404': answer('There is nothing', {
    texts: ['404 page not found'],
    json: {
      schema: 'OAuthError',
      examples: { underOauth2: { error: 'not_found', error_description: 'In words' } },
    },
  }),
};

const ANY_PATH: Part = {
  '400': answer('A malformed request, such as one with two Hosts (RFC 9112 section 3.2)', {
    texts: ['Bad request'],
  }),
  '503': answer('Under /auth/, whatever the method: the relay has no OAUTH_BASE_URL', {
    texts: ['OAuth proxy not configured'],
  }),
};
