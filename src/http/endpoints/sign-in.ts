/**
 * The four requests of a sign-in, in their order: a device starts it, the user opens its link,
 * the provider redirects the browser back, and the device gets the result. docs/protocol.md.
 */
import { log } from '../../log.ts';
import type { OutcomeName } from '../../pages/outcome.tsx';
import { cleanName } from '../../pages/shown-name.ts';
import { isRefusal, type TokenFailure } from '../../providers/answers.ts';
import type { BlindPolicy } from '../../providers/config.ts';
import type { Provider, Providers } from '../../providers/provider.ts';
import type { PollOutcome } from '../../sign-ins/polls.ts';
import {
  createVerifier,
  formatUserCode,
  isCapability,
  isChallenge,
  type RandomBytes,
  type SessionSecrets,
  signInIdOf,
} from '../../sign-ins/secrets.ts';
import type { Delivery, ErrorResult, SessionResult } from '../../sign-ins/session.ts';
import type { EndedCallback, SignIns } from '../../sign-ins/sign-ins.ts';
import type { Admission } from '../admission.ts';
import type { Handler } from '../app.ts';
import type { ContinueCookies } from '../continue-cookies.ts';
import { type BodyReader, linkOf, type RelayRequest, shortLinkOf } from '../request.ts';
import {
  describeTokens,
  emptyResponse,
  jsonResponse,
  type PageResponses,
  type Refused,
  redirectResponse,
  refuse,
  refused,
} from '../responses.ts';
import { endsSignIn, type SignInLog } from '../sign-in-log.ts';
import { pageOf as outcomePageOf } from './confirmation.ts';

/** How much of the body of a start is read. A longer body is cut there. */
const MAX_START_BYTES = 512;

/** How long after its first delivery a device that acknowledges (`ack`) may claim its result again. */
export const ACK_MS = 60_000;

/** The members of a start and their types. */
const MEMBERS = {
  service: 'string',
  code: 'boolean',
  device: 'string',
  ack: 'boolean',
  details: 'boolean',
  challenge: 'string',
} as const;

type StartMembers = Readonly<Record<string, unknown>>;

export interface StartDependencies {
  readonly signIns: SignIns;
  readonly providers: Providers;
  readonly admission: Admission;
  readonly bodies: BodyReader;
  readonly signInLog: SignInLog;
  readonly randomBytes: RandomBytes;
  readonly blind: BlindPolicy;
  readonly baseUrl: string;
  readonly sessionSeconds: number;
}

/** `POST /auth/start`. Refuses in the order of docs/protocol.md §2. A start that is refused later costs a token too. */
export function createStart(dependencies: StartDependencies): Handler {
  const { signIns, providers, admission, bodies, signInLog, randomBytes, blind } = dependencies;
  return async (request) => {
    const admitted = await admission.admitStart(request);
    if (!admitted.ok) return admitted;
    const asked = await readMembers(request, bodies, MAX_START_BYTES);
    if (asked === undefined) return refused('invalid_json');
    if (log.isEnabledFor('debug')) logIgnoredMembers(request, asked);
    // A member of a wrong type counts as missing, except the challenge: the relay would see
    // tokens that the device wanted to hide from it.
    const service = typeof asked.service === 'string' ? asked.service : '';
    const found = providers.find(service);
    if (!found.ok) return found;
    const { provider } = found;
    const challenge = readChallenge(asked.challenge, provider, blind);
    if (!challenge.ok) return challenge;
    const delivery: Delivery =
      challenge.value === undefined
        ? tokensOf(provider, asked.details === true, randomBytes)
        : { kind: 'code', challenge: challenge.value };
    const started = await signIns.start(service, {
      delivery,
      withUserCode: asked.code === true,
      deviceName: cleanName(asked.device),
      redeliveryMs: asked.ack === true ? ACK_MS : undefined,
      redeliverErrors: false,
    });
    signInLog.started(request, service, started);
    if (!started.ok) return started;
    const url = linkOf(dependencies.baseUrl, service, started.secrets.browserState);
    return jsonResponse(describeStarted(started.secrets, url, dependencies));
  };
}

/** The relay exchanges the code, with a new verifier if the provider has PKCE. */
export function tokensOf(provider: Provider, details: boolean, randomBytes: RandomBytes): Delivery {
  const verifier = provider.usesPkce ? createVerifier(randomBytes) : undefined;
  return { kind: 'tokens', verifier, ...(details && { details }) };
}

/** Undefined if it is not JSON, or the device disconnects. */
export async function readMembers(
  request: RelayRequest,
  bodies: BodyReader,
  maxBytes: number,
): Promise<StartMembers | undefined> {
  const { members, isCut } = await bodies.readMembers(request.raw, maxBytes);
  if (isCut) log.debug('start_body_cut', { requestId: request.id, readBytes: maxBytes });
  return members;
}

/** The device's own challenge, if it sends one. */
function readChallenge(
  challenge: unknown,
  provider: Provider,
  blind: BlindPolicy,
): { readonly ok: true; readonly value: string | undefined } | Refused {
  if (challenge === undefined) {
    return blind === 'always' ? refused('challenge_required') : { ok: true, value: undefined };
  }
  if (!isChallenge(challenge)) return refused('invalid_challenge');
  const isTaken = blind !== 'never' && provider.takesChallenge;
  return isTaken ? { ok: true, value: challenge } : refused('challenge_not_supported');
}

/** Lines of one request. 512 bytes hold 80 members. */
const MAX_LOGGED_MEMBERS = 8;

/** A longer name could be a secret: the relay's own have 24 characters and more. */
const LOGGABLE_NAME = /^[a-z_]\w{0,22}$/i;

/** Tells app developers. Never logs a value. */
function logIgnoredMembers(request: RelayRequest, asked: StartMembers): void {
  const known: Readonly<Record<string, string>> = MEMBERS;
  const ignored = Object.keys(asked).filter(
    (name) => !Object.hasOwn(known, name) || typeof asked[name] !== known[name],
  );
  for (const name of ignored.slice(0, MAX_LOGGED_MEMBERS)) {
    log.debug('start_member_ignored', {
      requestId: request.id,
      member: LOGGABLE_NAME.test(name) ? name : '…',
      expected: Object.hasOwn(known, name) ? known[name] : 'no such member',
    });
  }
}

/** With a user code it has three more members. */
export function describeStarted(
  { pollSecret, userCode }: SessionSecrets,
  url: string,
  { baseUrl, sessionSeconds }: Pick<StartDependencies, 'baseUrl' | 'sessionSeconds'>,
): object {
  if (userCode === undefined) return { session: pollSecret, url, expiresIn: sessionSeconds };
  return {
    session: pollSecret,
    url,
    expiresIn: sessionSeconds,
    userCode: formatUserCode(userCode),
    link: shortLinkOf(baseUrl, userCode),
    qr: `${baseUrl}/qr/${formatUserCode(userCode)}.png`,
  };
}

export interface BrowserDependencies {
  readonly signIns: SignIns;
  readonly providers: Providers;
  readonly cookies: ContinueCookies;
  readonly signInLog: SignInLog;
  readonly pages: PageResponses;
}

/** `GET /auth/<service>`: the link. Ends nothing, so link previews do no harm. docs/protocol.md §5. */
export function createLink({ signIns, providers, signInLog, pages }: BrowserDependencies): Handler {
  const { respondWithPage } = pages;
  return async (request) => {
    const service = request.parameter;
    const lookup = providers.find(service);
    if (!lookup.ok) return lookup;
    const browserState = request.stateOfLink();
    if (!isCapability(browserState)) return respondWithPage('link_invalid', request);
    const opened = isPrefetch(request)
      ? await findDelivery(signIns, service, browserState)
      : await signIns.open(service, browserState);
    if (typeof opened !== 'object') {
      return respondWithPage(opened === 'cancelled' ? opened : 'link_invalid', request);
    }
    if (!isPrefetch(request)) signInLog.opened(request, service, browserState);
    return redirectResponse(lookup.provider.authorizeUrl(browserState, opened));
  };
}

/** A prefetch is not a tap, so nobody is notified. https://wicg.github.io/nav-speculation/prefetch.html */
function isPrefetch(request: RelayRequest): boolean {
  return ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'].some((name) =>
    /^(?:prefetch|prerender|preview)\b/.test(request.header(name) ?? ''),
  );
}

async function findDelivery(signIns: SignIns, service: string, browserState: string) {
  const found = await signIns.find({ browserState });
  if (typeof found !== 'object') return found;
  return found.service === service ? found.delivery : undefined;
}

const OTHER_BROWSER_HINT =
  'with CONFIRM=always a sign-in ends only in the browser in which the user pressed Continue: this was another, or it keeps no cookies';

/**
 * `GET /auth/<service>/callback`: the provider has redirected the browser. If the browser
 * disconnects, the exchange continues, because the code is spent and the device waits for the
 * tokens. docs/protocol.md §5.
 */
export function createCallback(dependencies: BrowserDependencies): Handler {
  const { providers, cookies, signInLog, pages } = dependencies;
  const { respondWithPage } = pages;
  return async (request) => {
    const service = request.parameter;
    const lookup = providers.find(service);
    if (!lookup.ok) return lookup;
    const { provider } = lookup;
    const browserState = request.query('state') ?? '';
    if (!isCapability(browserState)) return respondWithPage('link_invalid', request);
    if (!cookies.allowsCallback(request, browserState)) {
      return refuseOtherBrowser(request, service, browserState, dependencies);
    }
    const ended = await endSignIn(request, provider, browserState, dependencies);
    const { outcome, deviceName } = ended;
    signInLog.finished(request, service, browserState, outcome);
    if (!endsSignIn(outcome)) {
      const isKnown = cookies.isKnown(request, browserState);
      return respondToSecondCallback(dependencies, request, browserState, outcome, isKnown);
    }
    // Without a device name it is the page of /auth/done.
    if (outcome === 'signed_in' && deviceName === undefined) {
      return respondWithPage(outcome, request);
    }
    const names = { deviceName, provider: provider.displayName };
    return respondWithPage(pageOf(ended, request), request, { names });
  };
}

/**
 * Some providers navigate twice, and users reload. A browser in which the user pressed Continue
 * sees how the sign-in stands; any other sees that the link is no longer valid.
 */
export async function respondToSecondCallback(
  { signIns, pages }: Pick<BrowserDependencies, 'signIns' | 'pages'>,
  request: RelayRequest,
  browserState: string,
  outcome: 'link_invalid' | 'cancelled' | 'busy',
  isKnown: boolean,
): Promise<Response> {
  const found = outcome === 'link_invalid' && isKnown && (await signIns.find({ browserState }));
  return pages.respondWithPage(typeof found === 'string' ? outcomePageOf(found) : outcome, request);
}

async function refuseOtherBrowser(
  request: RelayRequest,
  service: string,
  browserState: string,
  { signIns, pages }: BrowserDependencies,
): Promise<Response> {
  const found = await signIns.find({ browserState });
  // Stale links are routine.
  if (typeof found !== 'object' || found.service !== service) {
    return pages.respondWithPage('link_invalid', request);
  }
  const signIn = signInIdOf(browserState);
  const hint = OTHER_BROWSER_HINT;
  log.info('callback_without_cookie', { requestId: request.id, service, signIn, hint });
  return pages.respondWithPage('other_browser', request);
}

/** A non-empty error is evaluated first, then an empty code, then the exchange. */
async function endSignIn(
  request: RelayRequest,
  provider: Provider,
  browserState: string,
  { signIns, signInLog }: BrowserDependencies,
): Promise<EndedCallback<TokenFailure>> {
  const error = request.query('error');
  const code = request.query('code');
  if (error || !code) {
    const ended = await signIns.fail(provider.name, browserState, { error: errorOf(error) });
    if (ended.outcome === 'authorization_failed' || ended.outcome === 'missing_code') {
      if (hasUserCancelled(request)) {
        signInLog.authorizationCancelled(request, provider.name, browserState);
      } else {
        signInLog.authorizationFailed(request, provider, browserState, shownErrorOf(request));
      }
    }
    return ended;
  }
  const ended = await redeem(signIns, provider, browserState, code);
  if (ended.failure !== undefined) {
    signInLog.fail('exchange_failed', request, provider, ended.failure, browserState);
  }
  return ended;
}

async function redeem(
  signIns: SignIns,
  provider: Provider,
  browserState: string,
  code: string,
): Promise<EndedCallback<TokenFailure>> {
  if (!provider.reserve()) return { outcome: 'busy' };
  try {
    return await signIns.finish(provider.name, browserState, (delivery) =>
      provider.redeem(code, delivery),
    );
  } finally {
    provider.release();
  }
}

/**
 * True if the user declined, in other words than `access_denied`: LinkedIn, Apple, TikTok and
 * others; X has only `denied`, and Facebook may have only `error_reason`.
 */
function hasUserCancelled(request: RelayRequest): boolean {
  const error = request.query('error');
  if (error) return CANCELLATIONS.has(error.toLowerCase());
  return request.query('denied') !== undefined || Boolean(request.query('error_reason'));
}

const CANCELLATIONS: ReadonlySet<string> = new Set([
  ...['access_denied', 'user_denied', 'user_cancelled', 'cancelled', 'canceled'],
  ...['user_cancelled_login', 'user_cancelled_authorize'],
]);

/** For the log, which has no text of a stranger. Facebook has only an `error_code` if the app is not set up. */
function shownErrorOf(request: RelayRequest): string {
  const error = request.query('error');
  if (error) return STANDARD_ERRORS.has(error) ? error : 'other';
  return request.query('error_code') ? 'error_code' : 'none';
}

/** The pages of a user who declined in other words. The result is the specification's. */
export function cancelledPageOf(outcome: OutcomeName, request: RelayRequest): OutcomeName {
  if (!hasUserCancelled(request)) return outcome;
  if (outcome === 'authorization_failed') return 'user_cancelled';
  return outcome === 'missing_code' ? 'user_cancelled_without_error' : outcome;
}

/** The page distinguishes a provider that refuses, for a reason, from one that fails. */
function pageOf({ outcome, failure }: EndedCallback<TokenFailure>, request: RelayRequest) {
  const error = request.query('error');
  const cancelled = cancelledPageOf(outcome, request);
  if (cancelled !== outcome) return cancelled;
  if (outcome === 'authorization_failed') {
    return error === 'server_error' || error === 'temporarily_unavailable'
      ? outcome
      : 'authorization_refused';
  }
  if (outcome !== 'exchange_failed' || failure === undefined) return outcome;
  return isRefusal(failure) ? 'exchange_refused' : outcome;
}

export function errorOf(error: string | undefined): ErrorResult['error'] {
  if (!error) return 'missing_code';
  return error === 'access_denied' ? 'access_denied' : 'authorization_failed';
}

/** Errors that are logged as they are. Anyone can send any other text to a callback. */
const STANDARD_ERRORS: ReadonlySet<string> = new Set([
  /* RFC 6749 §4.1.2.1. */
  'invalid_request',
  'unauthorized_client',
  'access_denied',
  'unsupported_response_type',
  'invalid_scope',
  'server_error',
  'temporarily_unavailable',
  /* OpenID Connect Core §3.1.2.6. */
  'interaction_required',
  'login_required',
  'account_selection_required',
  'consent_required',
  'invalid_request_uri',
  'invalid_request_object',
  'request_not_supported',
  'request_uri_not_supported',
  'registration_not_supported',
  /* Some providers redirect with these too, such as GitHub. */
  'redirect_uri_mismatch',
  'invalid_redirect_uri',
  'invalid_client',
]);

/** The largest `wait`. */
export const MAX_WAIT_SECONDS = 50;

/** `GET /auth/result`: the device waits for its tokens, acknowledges them, or cancels. docs/protocol.md §3, §4. */
export function createResult(signIns: SignIns, pollSeconds: number): Handler {
  return (request) => {
    const pollSecret = request.query('session') ?? '';
    if (isAcknowledgement(request)) return acknowledge(signIns, pollSecret);
    if (isCancellation(request)) return cancel(signIns, pollSecret, request);
    const waitSeconds = parseWait(request.query('wait'));
    if (Number.isNaN(waitSeconds)) return refused('invalid_wait');
    if (!isCapability(pollSecret)) return refused('session_not_found');
    if (log.isEnabledFor('debug')) log.debug('poll_waiting', { requestId: request.id });
    // A proxy may close the connection after POLL_SECONDS.
    const holdSeconds = Math.min(waitSeconds, pollSeconds);
    const wantsProgress = request.query('progress') === '1';
    const { signal } = request.raw;
    const outcome = signIns.poll(pollSecret, signal, holdSeconds, wantsProgress);
    return outcome instanceof Promise ? outcome.then(respond) : respond(outcome);
  };
}

/**
 * After a fault a poll gets a 204, because deployed devices treat any error as final. An
 * acknowledgement or a cancellation gets a 503: it may have had no effect, so the device
 * repeats it.
 */
export function respondToResultFault(request: RelayRequest): Response {
  const isPoll = !isAcknowledgement(request) && !isCancellation(request);
  return isPoll ? emptyResponse() : refuse('busy');
}

function isAcknowledgement(request: RelayRequest): boolean {
  return request.query('ack') === '1';
}

function isCancellation(request: RelayRequest): boolean {
  return request.query('cancel') === '1';
}

function respond(outcome: PollOutcome): Response | Refused {
  switch (outcome.state) {
    case 'delivered':
      return jsonResponse(describeResult(outcome.result));
    case 'pending':
      return outcome.isOpened ? jsonResponse({ progress: 'opened' }) : emptyResponse();
    case 'gone':
      return refused('session_not_found');
  }
}

/** Infinity if absent, NaN for anything but a whole number from 0 to MAX_WAIT_SECONDS. */
function parseWait(wait: string | undefined): number {
  if (wait === undefined) return Number.POSITIVE_INFINITY;
  const isWhole = /^\d{1,2}$/.test(wait) && Number(wait) <= MAX_WAIT_SECONDS;
  return isWhole ? Number(wait) : Number.NaN;
}

/** 204 also before delivery. */
async function acknowledge(signIns: SignIns, pollSecret: string): Promise<Response | Refused> {
  const outcome = isCapability(pollSecret) ? await signIns.acknowledge(pollSecret) : 'gone';
  return outcome === 'gone' ? refused('session_not_found') : emptyResponse();
}

/** 204 also when repeated. 410 if there is nothing to cancel. */
async function cancel(
  signIns: SignIns,
  pollSecret: string,
  request: RelayRequest,
): Promise<Response | Refused> {
  const outcome = isCapability(pollSecret) ? await signIns.cancel(pollSecret) : 'gone';
  log.debug('sign_in_cancelled', { requestId: request.id, outcome });
  return outcome === 'gone' ? refused('session_not_found') : emptyResponse();
}

function describeResult(result: SessionResult): object {
  return 'accessToken' in result ? describeTokens(result, result.details === true) : result;
}
