/** Requests to a URL at which anything may answer, and why nothing does. */
import { readAtMost } from '../../body.ts';
import {
  type Fetch,
  type FetchInit,
  type ProviderResponse,
  USER_AGENT,
} from '../../providers/config.ts';
import { type ConnectProblem, describeConnectProblem } from '../../providers/connect-problem.ts';
import { parseObject } from '../../providers/token-response.ts';

const REQUEST_TIMEOUT_MS = 10_000;

export const request = (timeoutMs = REQUEST_TIMEOUT_MS): FetchInit => ({
  headers: { 'User-Agent': USER_AGENT },
  redirect: 'manual',
  signal: AbortSignal.timeout(timeoutMs),
});

/** Whether it was this check that did not wait longer. */
export const isTimeout = (error: unknown) =>
  error instanceof Error && error.name === 'TimeoutError';

/** The server may not be a relay, and may never stop sending. Truncated JSON is ignored. */
const RESPONSE_BYTES = 65_536;

/** Empty if it breaks off. */
export async function readText({ body }: ProviderResponse): Promise<string> {
  if (body === null) return '';
  const reading = readAtMost(body.getReader(), RESPONSE_BYTES);
  return reading.then(({ text }) => text).catch(() => '');
}

/** An empty object if the response is not a JSON object. */
export async function readObject(
  response: ProviderResponse,
): Promise<Readonly<Record<string, unknown>>> {
  return parseObject(await readText(response)) ?? {};
}

/** What is said of the host, and what to do for who runs the relay there. */
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

export function describeUnreachable(url: string, error: unknown) {
  const { cause, code } = describeConnectProblem(error);
  const [problem, remedy] = PROBLEMS[cause];
  const timeout = isTimeout(error) ? ` within ${REQUEST_TIMEOUT_MS / 1_000} s` : '';
  const detail = code === undefined ? timeout : ` (${code})`;
  return { text: `${new URL(url).host}: ${problem}${detail}`, remedy };
}

/** Metadata of a relay contain its base URL. Undefined: it has open sign-ins alone. */
export async function isRelayOf(
  baseUrl: string,
  service: string | undefined,
  fetch: Fetch,
): Promise<boolean> {
  const issuer = `${baseUrl}/oauth2/${service}`;
  const clientId = `${baseUrl}/open/client.json`;
  const url = service === undefined ? clientId : `${issuer}/.well-known/openid-configuration`;
  const response = await fetch(url, request()).catch(() => undefined);
  const found = response === undefined ? {} : await readObject(response);
  return service === undefined ? found.client_id === clientId : found.issuer === issuer;
}
