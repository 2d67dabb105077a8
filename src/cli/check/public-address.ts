/** The base URL: whether it is reachable and reaches this relay, and which client address the relay sees. */
import { randomBytes } from 'node:crypto';
import type { Fetch } from '../../providers/config.ts';
import { codeOf } from '../../providers/connect-problem.ts';
import { CannotListen } from '../../server/listen.ts';
import type { Runtime } from '../../server/runtime.ts';
import type { EnabledSettings } from '../../settings/index.ts';
import { askHealth } from '../health.ts';
import { type Finding, fault, ok } from './finding.ts';
import { checkPollOfSignIn, timePoll } from './poll.ts';
import { type Arrival, PROBE_TEXT, type ProbeServer, startProbeServer } from './probe-server.ts';
import { ask, isRelayOf, remedyForProxy } from './request.ts';

const BASE = 'base URL';
const CLIENT = 'client address';

/** If no relay runs here, a probe server listens instead of it. */
export async function checkPublicAddress(settings: EnabledSettings, runtime: Runtime) {
  const { fetch } = runtime;
  // Requests where it listens, not at the base URL.
  const { text } = await askHealth(settings, '/health');
  if (text === 'ok' || text === 'draining') return checkRunningRelay(settings, fetch);
  const word = randomBytes(18).toString('base64url');
  let server: ProbeServer;
  try {
    server = await startProbeServer(runtime, settings, word);
  } catch (error) {
    const isOfSetting = error instanceof CannotListen;
    return [fault('listening', isOfSetting ? error.message : `cannot listen (${codeOf(error)})`)];
  }
  try {
    return await checkByProbe(settings, fetch, word, server);
  } finally {
    server.stop();
  }
}

async function checkRunningRelay(settings: EnabledSettings, fetch: Fetch): Promise<Finding[]> {
  const { baseUrl, pollSeconds } = settings;
  const asked = await ask(`${baseUrl}/health`, fetch);
  const service = settings.providers[0]?.name;
  if (asked.status === undefined) return [fault(BASE, asked.problem, asked.remedy)];
  if (!(await isRelayOf(baseUrl, service, fetch))) {
    const found = `${baseUrl} answers ${asked.status}, but it is not a relay with this OAUTH_BASE_URL`;
    const remedy =
      remedyForProxy(asked.status, asked.headers) ??
      'restart the relay with these settings, or route the URL to it; a path must be in OAUTH_BASE_URL too';
    return [fault(BASE, found, remedy)];
  }
  const answers = ok(BASE, `this relay answers at ${baseUrl}`);
  if (service === undefined) return [answers];
  const isBlind = settings.blind === 'always';
  const poll = await checkPollOfSignIn(baseUrl, service, isBlind, fetch, pollSeconds);
  return [answers, poll];
}

async function checkByProbe(
  settings: EnabledSettings,
  fetch: Fetch,
  word: string,
  { arrivals }: ProbeServer,
): Promise<Finding[]> {
  const { baseUrl, port, pollSeconds } = settings;
  const asked = await ask(`${baseUrl}/health?check=${word}`, fetch);
  if (asked.status === undefined) return [fault(BASE, asked.problem, asked.remedy)];
  const { status, headers, text } = asked;
  const [arrival] = arrivals;
  if (arrival === undefined) {
    const found = `${baseUrl} answers ${status}, and not from PORT ${port} of this machine`;
    const remedy = `route it to PORT ${port} here: check DNS, and the upstream of the proxy`;
    return [fault(BASE, found, remedyForProxy(status, headers) ?? remedy)];
  }
  if (text !== PROBE_TEXT) {
    const found = `${baseUrl}/health arrives here as ${arrival.path}, and gets a ${status}`;
    const remedy = 'let the proxy pass on paths and responses as they are';
    return [fault(BASE, found, remedy)];
  }
  return [
    ok(BASE, `${baseUrl} reaches this machine`),
    checkClientAddress(settings, arrival),
    await timePoll(`${baseUrl}/auth/result?check=${word}`, pollSeconds, 200, fetch),
  ];
}

function checkClientAddress(settings: EnabledSettings, arrival: Arrival): Finding {
  const { baseUrl, trustedProxyCidrs } = settings;
  const { peerAddress = '', client, hasForwardedFor, forwardedProblem } = arrival;
  const peer = peerAddress.replace(/^::ffff:/, '');
  const trustPeer = `set TRUSTED_PROXY_CIDRS=${peer}`;
  if (!hasForwardedFor) {
    const isTrusted = trustedProxyCidrs.length > 0;
    // The relay has no TLS, so what serves https is a proxy.
    if (!isTrusted && new URL(baseUrl).protocol !== 'https:') {
      return ok(CLIENT, 'no proxy adds X-Forwarded-For: the client is the peer');
    }
    const text = `the proxy ${peer} sends no X-Forwarded-For: all devices share one rate limit`;
    const remedy = `let it add X-Forwarded-For${isTrusted ? '' : `, and ${trustPeer}`}`;
    return fault(CLIENT, text, remedy);
  }
  if (forwardedProblem === 'malformed') {
    const text = 'X-Forwarded-For arrives malformed: starts get a 400';
    return fault(CLIENT, text, 'let the proxy write only addresses');
  }
  if (forwardedProblem === 'ignored') {
    const text = `X-Forwarded-For comes from ${peer}, which is not trusted: all devices share one rate limit`;
    return fault(CLIENT, text, trustPeer);
  }
  return ok(CLIENT, `the proxy ${peer} is trusted, and says that the client is ${client}`);
}
