/** The API document: what devices request, in OpenAPI 3.1. The tests check each response against it. docs/api.md. */
import { basePathOf } from '../request.ts';
import { lines, matching, message } from './elements.ts';
import { paths } from './paths.ts';
import { schemas } from './schemas.ts';

const TEMPLATE = {
  openapi: '3.1.1',
  info: {
    title: 'Sign-in Relay',
    version: '1',
    summary: 'OAuth 2.0 sign-in for devices without a browser',
    description:
      "No request has credentials. What a request may do depends on the random secret in it: only the poll secret (`session`, `device_code`), which never leaves the device, gives access to the tokens; with the browser state in the link, or with the user code, a user can only sign in. URLs contain secrets, so responses are not cached, and URLs should not be logged.\n\nThis describes what devices and web apps request, not the pages that the user's browser opens. `x-any-path` is what any path may respond, and `x-every-response` lists headers of every response. The server refuses a body above 1 MiB (413), and a URL and headers above 16 KiB (431).",
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: '{{BASE_URL}}' }],
  security: [],
  tags: [
    { name: 'device', description: 'Requests of devices (docs/protocol.md)' },
    { name: 'device-grant', description: 'The same for standard clients (RFC 8628)' },
  ],
  paths,
  components: { schemas },
  'x-any-path': {
    400: message(
      'A malformed request, such as one with two Host headers (RFC 9112 section 3.2)',
      lines('malformed_request'),
    ),
    503: message(
      'Under /auth/, /oauth2/, /services, /refresh and /revoke, whatever the method: the relay has no OAUTH_BASE_URL',
      lines('not_configured'),
    ),
  },
  'x-every-response': {
    headers: {
      'Cache-Control': {
        required: true,
        description:
          'URLs and responses contain secrets, but not those of the logo and the favicon',
        schema: { enum: ['no-store, private', 'public, max-age=86400'] },
      },
      'Content-Security-Policy': {
        required: true,
        description: "Only the page's own style and the relay's own pictures",
        schema: matching("^default-src 'none'; "),
      },
      'Referrer-Policy': {
        required: true,
        description: '`same-origin` on pages with a form, so that browsers send its Origin',
        schema: { enum: ['no-referrer', 'same-origin'] },
      },
      'X-Content-Type-Options': {
        required: true,
        description: 'Browsers must not guess another type',
        schema: { const: 'nosniff' },
      },
    },
  },
};

/** The API document of a relay, as JSON. */
export function describeApi(baseUrl: string): string {
  return JSON.stringify(TEMPLATE)
    .replaceAll('{{BASE_URL}}', () => baseUrl)
    .replaceAll('{{ORIGIN}}', () => new URL(baseUrl).origin)
    .replaceAll('{{BASE_PATH}}', () => basePathOf(baseUrl));
}
