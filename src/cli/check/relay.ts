/** `sign-in-relay check --relay URL`: any relay from outside, without its settings. */
import { DATA_HEADERS } from '../../http/responses.ts';
import type { Fetch } from '../../providers/config.ts';
import { redirectUriOf } from '../../providers/provider.ts';
import { parseObject } from '../../providers/token-response.ts';
import { hasUserInfo, isUnencrypted, parseUrl } from '../../providers/url.ts';
import { withoutTrailingSlashes } from '../../settings/checks.ts';
import { type Finding, fault, ok, warning } from './finding.ts';
import { checkPollOfSignIn } from './poll.ts';
import { ask, isRelayOf, remedyForProxy } from './request.ts';

const RELAY = 'relay';

/** How much of the relay's own text is shown. */
const SHOWN_CHARACTERS = 500;

interface OfferedService {
  readonly service: string;
  readonly blind: 'no' | 'can' | 'must';
}

export async function checkRelay(relayUrl: string, fetch: Fetch): Promise<Finding[]> {
  const url = parseUrl(relayUrl.trim());
  if (url === undefined || hasUserInfo(relayUrl.trim()) || url.search || url.hash) {
    return [fault(RELAY, '--relay needs the URL of a relay, such as https://relay.example')];
  }
  const baseUrl = withoutTrailingSlashes(relayUrl.trim());
  const encryption = checkEncryption(baseUrl);
  const found = await fetchServices(baseUrl, fetch);
  if (!('services' in found)) return [...encryption, found];
  const { services } = found;
  const [first] = services;
  const all = [
    ...encryption,
    ok(RELAY, `it answers at ${baseUrl}`),
    await checkReady(baseUrl, fetch),
  ];
  if (first === undefined && !found.hasOpenSignIns) {
    return [...all, fault('providers', 'it offers none', 'set the client id of one')];
  }
  const [address, headers, poll] = await Promise.all([
    checkAddress(baseUrl, first?.service, fetch),
    checkHeaders(baseUrl, fetch),
    first && checkPollOfSignIn(baseUrl, first.service, first.blind === 'must', fetch),
  ]);
  const redirects = services.map(({ service }) =>
    ok(`redirect URI of ${service}`, `register exactly ${redirectUriOf(service, baseUrl)}`),
  );
  return [...all, address, headers, ...redirects, ...(poll ? [poll] : [])];
}

async function fetchServices(baseUrl: string, fetch: Fetch) {
  const answer = await ask(`${baseUrl}/services`, fetch);
  const { status, text } = answer;
  if (status === undefined) return fault(RELAY, answer.problem, answer.remedy);
  const { services, extensions } = parseObject(text) ?? {};
  if (status === 200 && Array.isArray(services) && services.every(isService)) {
    return { services, hasOpenSignIns: Array.isArray(extensions) && extensions.includes('open') };
  }
  if (status === 503) {
    const ready = await checkReady(baseUrl, fetch);
    if (ready.mark !== 'ok') return ready;
  }
  const remedy =
    status === 502 || status === 504
      ? 'start the relay there, or correct the upstream of the proxy'
      : 'check that OAUTH_BASE_URL is set there, and that the URL includes its path';
  const found = `${baseUrl}/services gets a ${status}, not a list`;
  return fault(RELAY, found, remedyForProxy(status, answer.headers) ?? remedy);
}

function isService(each: unknown): each is OfferedService {
  const { service, blind } = Object(each) as Readonly<Record<string, unknown>>;
  return /^[a-z0-9-]+$/.test(String(service)) && typeof blind === 'string';
}

async function checkReady(baseUrl: string, fetch: Fetch): Promise<Finding> {
  const answer = await ask(`${baseUrl}/ready`, fetch);
  const text = answer.text.trim();
  const shown = text.slice(0, SHOWN_CHARACTERS);
  if (answer.status !== 200) return fault('ready', `it is not: ${shown || 'no answer'}`);
  // A degraded relay adds what fails.
  return text === 'ready' ? ok('ready', 'it can start sign-ins') : fault('ready', shown);
}

async function checkAddress(baseUrl: string, service: string | undefined, fetch: Fetch) {
  if (await isRelayOf(baseUrl, service, fetch)) {
    return ok('base URL', 'its OAUTH_BASE_URL is this URL');
  }
  const remedy = `set OAUTH_BASE_URL=${baseUrl} there, or check the URL that it has`;
  return fault('base URL', 'its OAUTH_BASE_URL is another one: links lead there', remedy);
}

/** Checks that no proxy caches or changes a response that is for one device. */
async function checkHeaders(baseUrl: string, fetch: Fetch): Promise<Finding> {
  const path = `/auth/result?session=${'A'.repeat(24)}`;
  const { status, headers } = await ask(baseUrl + path, fetch);
  const changed = KEPT_HEADERS.filter((name) => headers?.get(name) !== DATA_HEADERS[name]);
  const names = changed.join(' and ');
  if (status === 410 && names === '')
    return ok('headers', 'responses arrive as the relay sends them');
  const got = `${status ?? 'broken connection'}${names && ` with another ${names}`}`;
  const remedy = 'let the proxy pass responses on as they are, and cache none';
  return fault('headers', `a poll of an unknown session gets a ${got}`, remedy);
}

/** Those of a response with a secret. */
const KEPT_HEADERS = ['Cache-Control', 'Referrer-Policy'] as const;

/** No finding if the base URL is https, or on this machine. */
function checkEncryption(baseUrl: string): Finding[] {
  if (!isUnencrypted(new URL(baseUrl))) return [];
  const text = 'the base URL is plain http: anyone on the network path can read the tokens';
  return [warning('https', text, 'put a TLS proxy in front, and write https')];
}
