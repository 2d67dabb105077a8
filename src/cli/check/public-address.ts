/** The base URL: whether it is reachable and reaches this relay, what ends a poll early, and which client address the relay sees. */
import { randomBytes } from 'node:crypto';
import { readAtMost } from '../../body.ts';
import { createFindClientAddress } from '../../http/client-address.ts';
import { MAX_WAIT_SECONDS } from '../../http/endpoints/result.ts';
import {
  type Fetch,
  type FetchInit,
  type ProviderResponse,
  USER_AGENT,
} from '../../providers/config.ts';
import {
  type ConnectProblem,
  codeOf,
  describeConnectProblem,
} from '../../providers/connect-problem.ts';
import { isLoopback } from '../../providers/url.ts';
import { describeListenFailure } from '../../server/listen.ts';
import type { Runtime } from '../../server/runtime.ts';
import type { EnabledSettings, Settings } from '../../settings/index.ts';
import { askHealth } from '../health.ts';
import { type Finding, fault, leftOut, ok, warning } from './finding.ts';
import { type Arrival, STAND_IN_TEXT, type StandIn, startStandIn } from './stand-in.ts';

export const REQUEST_TIMEOUT_MS = 10_000;

/** Beyond the hold time, before `check` gives up. */
const POLL_MARGIN_MS = 10_000;

const LISTENING = 'listening';
const BASE = 'base URL';
const POLL = 'poll';
const CLIENT = 'client address';

export async function checkPublicAddress(
  settings: EnabledSettings,
  runtime: Runtime,
): Promise<Finding[]> {
  const { baseUrl } = settings;
  const { fetch } = runtime;
  const word = randomBytes(18).toString('base64url');
  let standIn: StandIn | undefined;
  try {
    if (!(await isRelayRunning(settings))) standIn = await startStandIn(runtime, settings, word);
  } catch (error) {
    const problem = describeListenFailure(error, '', settings);
    return [fault(LISTENING, problem ?? `cannot listen (${codeOf(error)})`)];
  }
  try {
    const { finding, arrival } = await checkBase(settings, fetch, word, standIn);
    const all = [finding, ...(isPlainHttp(baseUrl) ? [PLAIN_HTTP] : [])];
    if (finding.mark !== 'ok') return all;
    const client =
      arrival === undefined
        ? leftOut(CLIENT, 'the relay runs: look for forwarded_header_ignored in its log')
        : checkClientAddress(settings, arrival);
    const poll =
      standIn === undefined
        ? checkRealPoll(settings, fetch)
        : timePoll(`${baseUrl}/auth/result?check=${word}`, settings.pollSeconds, 200, fetch);
    return [...all, client, await poll];
  } finally {
    standIn?.stop();
  }
}

const PLAIN_HTTP = warning(
  'https',
  'OAUTH_BASE_URL is plain http: anyone on the network path can read the tokens',
  'put a TLS proxy in front, and write https',
);

function isPlainHttp(baseUrl: string): boolean {
  const url = new URL(baseUrl);
  return url.protocol === 'http:' && !isLoopback(url);
}

/** Requests where it listens, not at the base URL. */
async function isRelayRunning(settings: Settings): Promise<boolean> {
  const { text } = await askHealth(settings, '/health');
  return text === 'ok' || text === 'draining';
}

export const request = (timeoutMs = REQUEST_TIMEOUT_MS): FetchInit => ({
  headers: { 'User-Agent': USER_AGENT },
  redirect: 'manual',
  signal: AbortSignal.timeout(timeoutMs),
});

/** It was this check that did not wait longer. */
export function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError';
}

/** The server at this address may not be a relay, and may never stop sending. Truncated JSON is ignored. */
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
  try {
    const value: unknown = JSON.parse(await readText(response));
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

async function checkBase(
  settings: EnabledSettings,
  fetch: Fetch,
  word: string,
  standIn: StandIn | undefined,
): Promise<{ finding: Finding; arrival?: Arrival }> {
  const { baseUrl } = settings;
  let status: number;
  let text: string;
  try {
    const response = await fetch(`${baseUrl}/health?check=${word}`, request());
    status = response.status;
    text = await readText(response);
  } catch (error) {
    return { finding: describeUnreachable(settings, error) };
  }
  if (standIn === undefined) return { finding: await checkIsThisRelay(settings, fetch) };
  const [arrival] = standIn.arrivals;
  if (arrival === undefined) {
    const found = `${baseUrl} answers ${status}, and not from PORT ${settings.port} of this machine`;
    const remedy = `route it to PORT ${settings.port} here: check DNS, and the upstream of the proxy`;
    return { finding: fault(BASE, found, remedy) };
  }
  if (text !== STAND_IN_TEXT) {
    const found = `${baseUrl}/health arrives here as ${arrival.path}, and gets a ${status}`;
    const remedy = 'let the proxy pass on paths and responses as they are';
    return { finding: fault(BASE, found, remedy) };
  }
  return { finding: ok(BASE, `${baseUrl} reaches this machine`), arrival };
}

/** The metadata of a relay contain its base URL. */
async function checkIsThisRelay(settings: EnabledSettings, fetch: Fetch): Promise<Finding> {
  const { baseUrl } = settings;
  const [service] = settings.providers;
  const issuer = `${baseUrl}/oauth2/${service?.name}`;
  try {
    const response = await fetch(`${issuer}/.well-known/openid-configuration`, request());
    const metadata = await readObject(response);
    if (metadata.issuer === issuer) return ok(BASE, `this relay answers at ${baseUrl}`);
  } catch {
    // Handled like any other response.
  }
  return fault(
    BASE,
    `${baseUrl} answers, but it is not a relay with this OAUTH_BASE_URL`,
    'restart the relay with these settings, or route the URL to it; a path must be in OAUTH_BASE_URL too',
  );
}

function describeUnreachable({ baseUrl, port }: EnabledSettings, error: unknown): Finding {
  const { host } = new URL(baseUrl);
  const { cause, code } = describeConnectProblem(error);
  const descriptions: Readonly<Record<ConnectProblem, readonly [string, string]>> = {
    dns: [`the name ${host} is unknown here`, 'create its DNS record'],
    refused: [`nothing listens at ${host}`, `start the proxy in front of PORT ${port}`],
    tls: [
      `no trusted TLS at ${host}`,
      'give the proxy a valid certificate with its whole chain; name a CA of your own in NODE_EXTRA_CA_CERTS',
    ],
    closed: [
      `${host} closes the connection`,
      'check the upstream of the proxy, and https against http',
    ],
    malformed: [`${host} does not speak HTTP`, 'check the upstream of the proxy, and its port'],
    other: [
      `${host} does not answer`,
      'check the firewall; some routers do not route back into their own network',
    ],
  };
  const [found, remedy] = descriptions[cause];
  if (isTimeout(error))
    return fault(BASE, `${found} within ${REQUEST_TIMEOUT_MS / 1_000} s`, remedy);
  return fault(BASE, code === undefined ? found : `${found} (${code})`, remedy);
}

function checkClientAddress({ trustedProxyCidrs }: Settings, arrival: Arrival): Finding {
  const { peerAddress = '', forwardedFor } = arrival;
  if (forwardedFor === undefined) {
    return trustedProxyCidrs.length === 0
      ? ok(CLIENT, 'no proxy adds X-Forwarded-For: the client is the peer')
      : fault(
          CLIENT,
          'TRUSTED_PROXY_CIDRS is set, but X-Forwarded-For does not arrive: all devices share one rate limit',
          'let the proxy add X-Forwarded-For',
        );
  }
  const found = createFindClientAddress(trustedProxyCidrs)(peerAddress, forwardedFor);
  if (found === undefined) {
    return fault(
      CLIENT,
      'X-Forwarded-For arrives malformed: starts get a 400',
      'let the proxy write only addresses',
    );
  }
  const peer = peerAddress.replace(/^::ffff:/, '');
  return found.ignoredForwarded
    ? fault(
        CLIENT,
        `X-Forwarded-For comes from ${peer}, which is not trusted: all devices share one rate limit`,
        `set TRUSTED_PROXY_CIDRS=${peer}`,
      )
    : ok(CLIENT, `the proxy ${peer} is trusted, and names the client`);
}

function checkRealPoll(settings: EnabledSettings, fetch: Fetch): Promise<Finding> {
  const { baseUrl, pollSeconds } = settings;
  const [provider] = settings.providers;
  const blind = settings.blind === 'always' ? 'must' : 'no';
  const service = provider?.name ?? '';
  return checkPollOfSignIn({ baseUrl, service, blind, pollSeconds }, fetch);
}

interface PollOfSignIn {
  readonly baseUrl: string;
  readonly service: string;
  /** `no`, `can` or `must`, as `GET /services` says. */
  readonly blind: string;
  readonly pollSeconds: number;
}

/** Starts a sign-in and cancels it afterwards. */
export async function checkPollOfSignIn(
  { baseUrl, service, blind, pollSeconds }: PollOfSignIn,
  fetch: Fetch,
): Promise<Finding> {
  const challenge = blind === 'must' ? { challenge: 'A'.repeat(43) } : {};
  const body = JSON.stringify({ service, device: STAND_IN_TEXT, ...challenge });
  const init: FetchInit = { ...request(), method: 'POST', body };
  const started = await fetch(`${baseUrl}/auth/start`, init).catch(() => undefined);
  const { session } = started === undefined ? {} : await readObject(started);
  if (started?.status !== 200 || typeof session !== 'string') {
    const got = started === undefined ? 'no answer' : `a ${started.status}`;
    return fault(POLL, `a start gets ${got}`, 'read the log of the relay');
  }
  const resultUrl = `${baseUrl}/auth/result?session=${session}`;
  // The relay may hold it longer than that, and then nothing is wrong.
  const wait = pollSeconds <= MAX_WAIT_SECONDS ? `&wait=${pollSeconds}` : '';
  const finding = await timePoll(`${resultUrl}${wait}`, pollSeconds, 204, fetch);
  await fetch(`${resultUrl}&cancel=1`, request()).catch(() => {});
  return finding;
}

async function timePoll(
  url: string,
  pollSeconds: number,
  expected: number,
  fetch: Fetch,
): Promise<Finding> {
  const startedAtMs = performance.now();
  const timeoutMs = pollSeconds * 1_000 + POLL_MARGIN_MS;
  const raise = `raise the read timeout of what is in front above ${pollSeconds} s`;
  const seconds = () => Math.round((performance.now() - startedAtMs) / 1_000);
  const cut = (by: string) =>
    seconds() === 0
      ? fault(POLL, `refused at once${by}`, 'read the log of what is in front, and of the relay')
      : fault(
          POLL,
          `cut after ${seconds()} s${by}`,
          `${raise}, or set POLL_SECONDS below ${seconds()}`,
        );
  try {
    const response = await fetch(url, request(timeoutMs));
    await readText(response);
    const { status, headers } = response;
    if (status === expected) return ok(POLL, `held for ${seconds()} s, and nothing cut it`);
    const server = (headers.get('server') ?? '').replace(/[^\w./ -]/g, '').slice(0, 40);
    return cut(`${server && ` by ${server}`} with ${status}`);
  } catch (error) {
    if (!isTimeout(error)) {
      return cut(`: the connection was closed (${codeOf(error) || 'no answer'})`);
    }
    const text = `not answered within ${timeoutMs / 1_000} s, when check gave up`;
    return fault(POLL, text, `${raise}: it may have cut the poll, and sent it again`);
  }
}
