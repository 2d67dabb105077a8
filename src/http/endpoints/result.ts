/** `GET /auth/result`: the device waits for its result, acknowledges it, or cancels. docs/protocol.md §3, §4. */
import { MAX_WAIT_SECONDS } from '../../limits.ts';
import { log } from '../../log.ts';
import type { PollOutcome } from '../../sign-ins/polls.ts';
import { isCapability } from '../../sign-ins/secrets.ts';
import type { SessionResult } from '../../sign-ins/session.ts';
import type { SignIns } from '../../sign-ins/sign-ins.ts';
import type { Handler } from '../app.ts';
import type { RelayRequest } from '../request.ts';
import {
  describeTokens,
  emptyResponse,
  errorResponse,
  jsonResponse,
  type Refusal,
  refuse,
} from '../responses.ts';

export function createResult(signIns: SignIns, pollSeconds: number): Handler {
  return (request) => {
    const pollSecret = request.query('session') ?? '';
    if (isAcknowledgement(request)) return acknowledge(signIns, pollSecret);
    if (isCancellation(request)) return cancel(signIns, pollSecret, request);
    const waitSeconds = parseWait(request.query('wait'));
    if (Number.isNaN(waitSeconds)) return refuse('invalid_wait');
    if (!isCapability(pollSecret)) return refuse('session_not_found');
    if (log.isEnabledFor('debug')) log.debug('poll_waiting', { requestId: request.id });
    // A proxy may close the connection after POLL_SECONDS.
    const holdSeconds = Math.min(waitSeconds, pollSeconds);
    const wantsProgress = request.query('progress') === '1';
    const outcome = signIns.poll(pollSecret, request.release(), holdSeconds, { wantsProgress });
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
  return isPoll ? emptyResponse() : errorResponse('busy');
}

function isAcknowledgement(request: RelayRequest): boolean {
  return request.query('ack') === '1';
}

function isCancellation(request: RelayRequest): boolean {
  return request.query('cancel') === '1';
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

/** The response is a 204 also before the delivery. */
async function acknowledge(signIns: SignIns, pollSecret: string): Promise<Response | Refusal> {
  const outcome = isCapability(pollSecret) ? await signIns.acknowledge(pollSecret) : 'gone';
  return outcome === 'gone' ? refuse('session_not_found') : emptyResponse();
}

/** The response is a 204 also when repeated, and a 410 if there is nothing to cancel. */
async function cancel(
  signIns: SignIns,
  pollSecret: string,
  request: RelayRequest,
): Promise<Response | Refusal> {
  const outcome = isCapability(pollSecret) ? await signIns.cancel(pollSecret) : 'gone';
  log.debug('sign_in_cancelled', { requestId: request.id, outcome });
  return outcome === 'gone' ? refuse('session_not_found') : emptyResponse();
}

function describeResult(result: SessionResult): object {
  return 'accessToken' in result ? describeTokens(result, result.details === true) : result;
}
