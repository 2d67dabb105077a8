/**
 * A device starts a sign-in (`POST /auth/start`). Then it waits for the result, acknowledges it, or
 * cancels (`GET /auth/result`). docs/protocol.md §2 to §4.
 */
import { MAX_WAIT_SECONDS, REDELIVERY_MS } from '../../limits.ts';
import { log } from '../../log.ts';
import { cleanName } from '../../pages/shown-name.ts';
import type { BlindPolicy } from '../../providers/config.ts';
import type { Provider } from '../../providers/provider.ts';
import type { PollOutcome } from '../../sign-ins/polls.ts';
import { formatUserCode, isCapability, isChallenge } from '../../sign-ins/secrets.ts';
import type { Delivery, SessionResult } from '../../sign-ins/session.ts';
import type { SignIns } from '../../sign-ins/sign-ins.ts';
import type { Handler } from '../app.ts';
import type { Dependencies, StartDependencies } from '../dependencies.ts';
import {
  linkOf,
  parseMembers,
  type RelayRequest,
  readBody,
  shortLinkOf,
  textOf,
} from '../request.ts';
import {
  describeTokens,
  emptyResponse,
  errorResponse,
  jsonResponse,
  type Refusal,
  refuse,
} from '../responses.ts';

/** How much of the body of a start is read. A longer body is cut there. */
export const MAX_START_BYTES = 512;

/** The members of a start and their types. */
const MEMBERS = {
  service: 'string',
  code: 'boolean',
  device: 'string',
  ack: 'boolean',
  details: 'boolean',
  challenge: 'string',
} as const;

/** Refuses in the order of docs/protocol.md §2. A start that is refused later costs a token too. */
export function createStart(dependencies: StartDependencies): Handler {
  const { providers, admission, clock, blind } = dependencies;
  return async (request) => {
    const admitted = await admission.admit(request, 'start');
    if (!admitted.ok) return admitted;
    const { text, isTruncated } = await readBody(request.raw, MAX_START_BYTES, clock);
    if (isTruncated) {
      log.debug('start_body_cut', { requestId: request.id, readBytes: MAX_START_BYTES });
    }
    const body = parseMembers(text);
    if (body === undefined) return refuse('invalid_json');
    if (log.isEnabledFor('debug')) logIgnoredMembers(request, body);
    const service = textOf(body.service) ?? '';
    const found = providers.find(service);
    if (!found.ok) return found;
    const { provider } = found;
    const delivery =
      body.challenge === undefined && blind !== 'always'
        ? provider.createDelivery(body.details === true)
        : readChallenge(body.challenge, provider, blind);
    if ('refusal' in delivery) return delivery;
    return startSignIn(dependencies, request, service, delivery, body);
  };
}

/**
 * The device exchanges the code, with the verifier of its own challenge. A challenge of a wrong type
 * is refused, not ignored: the relay would see tokens that the device wanted to hide from it.
 */
function readChallenge(
  challenge: unknown,
  provider: Provider,
  blind: BlindPolicy,
): Delivery | Refusal {
  if (challenge === undefined) return refuse('challenge_required');
  if (!isChallenge(challenge)) return refuse('invalid_challenge');
  const isTaken = blind !== 'never' && provider.takesChallenge;
  return isTaken ? { kind: 'code', challenge } : refuse('challenge_not_supported');
}

/** The most lines for one request: 512 bytes have room for 80 members. */
const MAX_LOGGED_MEMBERS = 8;

/** A longer name could be a secret: the relay's own have 24 characters and more. */
const LOGGABLE_NAME = /^[a-z_]\w{0,22}$/i;

/** Helps app developers. Never logs a value. */
function logIgnoredMembers(request: RelayRequest, body: Readonly<Record<string, unknown>>): void {
  const known: Readonly<Record<string, string>> = MEMBERS;
  const ignored = Object.keys(body).filter(
    (name) => !Object.hasOwn(known, name) || typeof body[name] !== known[name],
  );
  for (const name of ignored.slice(0, MAX_LOGGED_MEMBERS)) {
    log.debug('start_member_ignored', {
      requestId: request.id,
      member: LOGGABLE_NAME.test(name) ? name : '…',
      expected: Object.hasOwn(known, name) ? known[name] : 'no such member',
    });
  }
}

/** The response has three more members with a user code, and `more`. */
export async function startSignIn(
  { signIns, signInLog, baseUrl, sessionSeconds }: StartDependencies,
  request: RelayRequest,
  service: string,
  delivery: Delivery,
  body: Readonly<Record<string, unknown>>,
  more?: object,
): Promise<Response | Refusal> {
  const device = textOf(body.device);
  const started = await signIns.start(service, {
    delivery,
    withUserCode: body.code === true,
    deviceName: device ? cleanName(device) : undefined,
    redeliveryMs: body.ack === true ? REDELIVERY_MS : undefined,
  });
  signInLog.started(request, service, started);
  if (!started.ok) return started;
  const { browserState, pollSecret, userCode } = started.secrets;
  return jsonResponse({
    session: pollSecret,
    url: linkOf(baseUrl, service, browserState),
    expiresIn: sessionSeconds,
    ...(userCode !== undefined && {
      userCode: formatUserCode(userCode),
      link: shortLinkOf(baseUrl, userCode),
      qr: `${baseUrl}/qr/${formatUserCode(userCode)}.png`,
    }),
    ...more,
  });
}

/* The result. */

export function createResult({ signIns, pollSeconds }: Dependencies): Handler {
  return (request) => {
    const pollSecret = request.query('session') ?? '';
    const ending = endingOf(request);
    if (ending !== undefined) return end(signIns, ending, pollSecret, request);
    const waitSeconds = parseWait(request.query('wait'));
    if (Number.isNaN(waitSeconds)) return refuse('invalid_wait');
    if (!isCapability(pollSecret)) return refuse('session_not_found');
    if (log.isEnabledFor('debug')) log.debug('poll_waiting', { requestId: request.id });
    // A proxy may close the connection after POLL_SECONDS.
    const holdSeconds = Math.min(waitSeconds, pollSeconds);
    const wantsProgress = request.query('progress') === '1';
    const outcome = signIns.poll(pollSecret, request.release(), holdSeconds, { wantsProgress });
    return outcome.then(respond);
  };
}

/**
 * After a fault a poll gets a 204, because deployed devices treat any error as final. An
 * acknowledgement or a cancellation gets a 503: it may have had no effect, so the device
 * repeats it.
 */
export function respondToResultFault(request: RelayRequest): Response {
  return endingOf(request) === undefined ? emptyResponse() : errorResponse('busy');
}

/** Undefined if the request is a poll. */
function endingOf(request: RelayRequest) {
  if (request.query('ack') === '1') return 'acknowledge';
  return request.query('cancel') === '1' ? 'cancel' : undefined;
}

function respond(outcome: PollOutcome): Response | Refusal {
  switch (outcome.state) {
    case 'delivered':
      return jsonResponse(describeResult(outcome.result));
    case 'pending':
      return outcome.isOpened ? jsonResponse({ progress: 'opened' }) : emptyResponse();
    case 'gone':
      return refuse('session_not_found');
  }
}

/** Infinity if absent, NaN for anything but a whole number from 0 to MAX_WAIT_SECONDS. */
function parseWait(wait: string | undefined): number {
  if (wait === undefined) return Number.POSITIVE_INFINITY;
  const isWhole = /^\d{1,2}$/.test(wait) && Number(wait) <= MAX_WAIT_SECONDS;
  return isWhole ? Number(wait) : Number.NaN;
}

/** Responds with a 204, also to an acknowledgement before the delivery and to a repeated cancellation, and with a 410 if there is nothing to end. */
async function end(
  signIns: SignIns,
  ending: 'acknowledge' | 'cancel',
  pollSecret: string,
  request: RelayRequest,
) {
  const outcome = isCapability(pollSecret) ? await signIns[ending](pollSecret) : 'gone';
  if (ending === 'cancel') log.debug('sign_in_cancelled', { requestId: request.id, outcome });
  return outcome === 'gone' ? refuse('session_not_found') : emptyResponse();
}

function describeResult(result: SessionResult): object {
  return 'accessToken' in result ? describeTokens(result, result.details === true) : result;
}
