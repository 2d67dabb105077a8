/**
 * The confirmation page (RFC 8628 §3.3), which a user sees between a code, or with
 * CONFIRM=always a link, and the provider. It names the app and the device. A GET changes
 * nothing, so link previews do no harm. docs/user-pages.md.
 */
import { OPEN_SERVICE, type OpenDestination, openDestinationOf } from '../../providers/open.ts';
import type { Provider } from '../../providers/provider.ts';
import { formatUserCode, isCapability } from '../../sign-ins/secrets.ts';
import type { SessionOutcome } from '../../sign-ins/session.ts';
import type { EndedInfo, SessionInfo } from '../../sign-ins/sign-ins.ts';
import type { PageDependencies } from '../dependencies.ts';
import {
  isSameOrigin,
  MAX_FORM_BYTES,
  parseParameters,
  type RelayRequest,
  readBody,
  shortLinkOf,
} from '../request.ts';
import { type Refusal, redirectResponse, refuse } from '../responses.ts';

/** Where Continue leads: a provider of the relay, or the endpoint that the client of an open sign-in names. */
type Destination = Provider | OpenDestination;

type Choice = 'continue' | 'decline' | 'origin_hidden' | undefined;

/** What the user chose. Undefined for a GET, another site's form, or an unknown choice. */
export async function readChoice(
  { clock, baseUrl }: PageDependencies,
  request: RelayRequest,
): Promise<Choice> {
  if (request.method !== 'POST') return undefined;
  if (hidesOrigin(request)) return 'origin_hidden';
  if (!isSameOrigin(request.raw.headers, new URL(baseUrl).origin)) return undefined;
  const { text } = await readBody(request.raw, MAX_FORM_BYTES, clock);
  const choice = parseParameters(text).get('choice');
  return choice === 'continue' || choice === 'decline' ? choice : undefined;
}

/** A link with a state, by GET and POST, to a session of this service. */
export async function confirmLink(
  dependencies: PageDependencies,
  request: RelayRequest,
  service: string,
): Promise<Response | Refusal> {
  const { signIns, pages, providers } = dependencies;
  if (service !== OPEN_SERVICE && !providers.has(service)) return refuse('unknown_service');
  const choice = await readChoice(dependencies, request);
  const browserState = request.stateOfLink();
  const found = isCapability(browserState) && (await signIns.find({ browserState }, service));
  if (!found) return pages.respondWithPage('link_invalid', request, { service });
  return handleChoice(dependencies, request, choice, found);
}

/**
 * Continues or declines a session that was found by its code or its link. If there is no choice,
 * the page asks. Idempotent: users repeat it after a lost response, in a second tab, or with Back.
 */
export async function handleChoice(
  dependencies: PageDependencies,
  request: RelayRequest,
  choice: Choice,
  found: SessionInfo | EndedInfo,
  userCode?: string,
): Promise<Response> {
  const { pages, signInLog } = dependencies;
  if (choice === 'origin_hidden') {
    signInLog.warnOfHiddenOrigin();
    return pages.respondWithPage(choice, request);
  }
  const { service } = found;
  if ('outcome' in found) {
    return pages.respondWithPage(outcomePageOf(found.outcome), request, { service });
  }
  const { browserState } = found;
  const lookup = findDestination(dependencies, found);
  if (lookup === undefined) return pages.respondWithPage('link_invalid', request, { service });
  if (choice === 'decline') {
    const name = lookup.ok ? lookup.provider.displayName : undefined;
    return decline(dependencies, request, found, name);
  }
  if (!lookup.ok) return pages.responseTo(lookup, request, browserState);
  return choice === undefined
    ? respondWithConfirmation(dependencies, request, found, lookup.provider, userCode)
    : redirectToProvider(dependencies, request, lookup.provider, browserState);
}

/** Undefined if the operator has removed the service, or disabled open sign-ins, since the sign-in started. */
function findDestination(
  { providers, openEndpoints, baseUrl }: PageDependencies,
  { service, delivery }: SessionInfo,
) {
  if (delivery.kind === 'callback') {
    if (openEndpoints === undefined) return undefined;
    return { ok: true, provider: openDestinationOf(delivery.authorizationUrl, baseUrl) } as const;
  }
  return providers.has(service) ? providers.find(service) : undefined;
}

function respondWithConfirmation(
  { pages, baseUrl }: PageDependencies,
  request: RelayRequest,
  { ageMs, deviceName }: SessionInfo,
  { name, displayName, host }: Destination,
  userCode: string | undefined,
): Response {
  const page = pages.pagesFor(request).confirm({
    provider: displayName,
    providerHost: host,
    isOpen: name === OPEN_SERVICE,
    ageMs,
    deviceName,
    userCode: userCode && formatUserCode(userCode),
    shortLink: userCode && shortLinkOf(baseUrl, userCode),
    isInApp: IN_APP.test(request.header('user-agent') ?? ''),
  });
  return pages.respond(200, page, 'choice');
}

/** `provider` is the name that users see. */
async function decline(
  { signIns, signInLog, pages }: PageDependencies,
  request: RelayRequest,
  { service, browserState, deviceName }: SessionInfo,
  provider: string | undefined,
): Promise<Response> {
  const { outcome } = await signIns.fail(service, browserState, 'access_denied');
  if (outcome !== 'access_denied') {
    const found = await signIns.find({ browserState });
    const page = outcomePageOf(found && ('outcome' in found ? found.outcome : 'busy'));
    return pages.respondWithPage(page, request, { service, browserState });
  }
  signInLog.finished(request, service, browserState, 'declined');
  return pages.respondWithPage('declined', request, { names: { deviceName, provider } });
}

async function redirectToProvider(
  { signIns, signInLog, pages, cookies, confirm }: PageDependencies,
  request: RelayRequest,
  provider: Destination,
  browserState: string,
): Promise<Response> {
  const { name } = provider;
  const opened = await signIns.open(name, browserState);
  if (typeof opened !== 'object') {
    return pages.respondWithPage(outcomePageOf(opened), request, { service: name, browserState });
  }
  signInLog.opened(request, name, browserState);
  const response = redirectResponse(provider.authorizeUrl(browserState, opened), 303);
  if (confirm === 'always' || name === OPEN_SERVICE) cookies.set(request, response, browserState);
  return response;
}

/** The page after the session has ended, or of no session. Nothing failed for a user who declined, here or at the provider. */
export function outcomePageOf(outcome: SessionOutcome | 'busy' | undefined) {
  return outcome === 'access_denied' ? 'declined' : (outcome ?? 'link_invalid');
}

/**
 * True if the form's origin is hidden. The relay's pages ask for it, so a proxy must have added
 * another `Referrer-Policy`. With fetch metadata the origin is not needed. docs/proxies.md.
 */
function hidesOrigin(request: RelayRequest): boolean {
  return request.header('origin') === 'null' && request.header('sec-fetch-site') === undefined;
}

/**
 * A User-Agent of a browser inside another app: apps by name, a WebView of Android, and one of iOS,
 * which does not say Safari as each browser there does. Some providers refuse sign-ins there
 * (Google: `disallowed_useragent`), because that app could read the password (RFC 8252 §8.12).
 * A wrong guess only adds advice to the page.
 */
const IN_APP =
  /^Mozilla\/5\.0 \(iP[^)]*\)(?!.* Safari\/)|\b(?:FBAN|FBAV|FB_IAB|Instagram|Line\/|MicroMessenger|Twitter|Snapchat|BytedanceWebview|musical_ly|TikTok|Pinterest\/|LinkedInApp|GSA\/)|; wv\)/;
