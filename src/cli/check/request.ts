/** Requests to a URL where any server may answer, and why none does. */
import { readAtMost } from '../../body.ts';
import {
  type Fetch,
  type FetchInit,
  type ProviderResponse,
  USER_AGENT,
} from '../../providers/config.ts';
import { type ConnectProblem, describeConnectProblem } from '../../providers/connect-problem.ts';
import { parseObject } from '../../providers/token-response.ts';
import { parseUrl } from '../../providers/url.ts';

const REQUEST_TIMEOUT_MS = 10_000;

export const request = (timeoutMs = REQUEST_TIMEOUT_MS): FetchInit => ({
  headers: { 'User-Agent': USER_AGENT },
  redirect: 'manual',
  signal: AbortSignal.timeout(timeoutMs),
});

/** True if the timeout of `request` ended it. */
export const isTimeout = (error: unknown) =>
  error instanceof Error && error.name === 'TimeoutError';

/** The server may not be a relay, and may never stop sending. Truncated JSON is ignored. */
const RESPONSE_BYTES = 65_536;

/** The response, or why there is none. */
type Answer =
  | { readonly status: number; readonly headers: Headers; readonly text: string }
  | {
      readonly status: undefined;
      readonly headers?: undefined;
      readonly text: '';
      readonly problem: string;
      readonly remedy: string;
    };

export async function ask(url: string, fetch: Fetch, init = request()): Promise<Answer> {
  try {
    const { status, headers, body } = await fetch(url, init);
    return { status, headers, text: await readText(body) };
  } catch (error) {
    return { status: undefined, text: '', ...describeUnreachable(url, error) };
  }
}

/** Empty if the connection breaks. */
export async function readText(body: ProviderResponse['body']): Promise<string> {
  if (body === null) return '';
  const reading = readAtMost(body.getReader(), RESPONSE_BYTES);
  return reading.then(({ text }) => text).catch(() => '');
}

/** What is wrong at the host, and the remedy for the operator of the relay there. */
const PROBLEMS: Readonly<Record<ConnectProblem, readonly [string, string]>> = {
  dns: ['the name is unknown here', 'create its DNS record'],
  refused: ['nothing listens there', 'start the relay, and the proxy in front'],
  tls: [
    'it has no TLS, or no trusted certificate',
    'give the proxy a valid certificate with its whole chain; name a CA of your own in NODE_EXTRA_CA_CERTS',
  ],
  closed: ['it closes the connection', 'check the upstream of the proxy, and https against http'],
  malformed: ['it does not speak HTTP', 'check the upstream of the proxy, and its port'],
  other: [
    'it does not answer',
    'check the firewall; some routers do not route back into their own network',
  ],
};

function describeUnreachable(url: string, error: unknown) {
  const { cause, code } = describeConnectProblem(error);
  const [problem, remedy] = PROBLEMS[cause];
  const timeout = isTimeout(error) ? ` within ${REQUEST_TIMEOUT_MS / 1_000} s` : '';
  const detail = code === undefined ? timeout : ` (${code})`;
  return { problem: `${new URL(url).host}: ${problem}${detail}`, remedy };
}

/** The remedy for a redirect or a refusal, which a relay does not send here. Undefined for any other response. */
export function remedyForProxy(status: number, headers: Headers): string | undefined {
  if (status === 401 || status === 403) {
    return "let the proxy ask for no password and send no challenge: a device can't answer one";
  }
  if (status < 300 || status >= 400) return undefined;
  const { origin } = parseUrl(headers.get('location') ?? '') ?? {};
  const to = origin === undefined ? '' : ` to ${origin}`;
  return `it redirects${to}: set OAUTH_BASE_URL to that URL if the relay is there, or let the proxy not redirect`;
}

/** True if the metadata there have this base URL. `service` is undefined if the relay has only open sign-ins. */
export async function isRelayOf(baseUrl: string, service: string | undefined, fetch: Fetch) {
  const issuer = `${baseUrl}/oauth2/${service}`;
  const clientId = `${baseUrl}/open/client.json`;
  const url = service === undefined ? clientId : `${issuer}/.well-known/openid-configuration`;
  const found = parseObject((await ask(url, fetch)).text) ?? {};
  return service === undefined ? found.client_id === clientId : found.issuer === issuer;
}
