/** `GET /auth/result`: the device waits for its tokens. docs/protocol.md §3. */
import { log } from '../../log.ts';
import type { Relay } from '../../relay/relay.ts';
import { isCapability } from '../../relay/secrets.ts';
import type { SessionResult } from '../../relay/session.ts';
import type { Acknowledgement, Claim, SessionStore } from '../../relay/store.ts';
import type { Handler } from '../app.ts';
import type { RelayRequest } from '../request.ts';
import { describeTokens, emptyResponse, jsonResponse, refuse } from '../responses.ts';

/** The longest a device may ask to be held. */
const MAX_WAIT_SECONDS = 50;

export function createResult(store: SessionStore, relay: Relay, pollSeconds: number): Handler {
  return (request) => {
    const pollSecret = request.query('session') ?? '';
    if (isAcknowledgement(request)) return acknowledge(store, pollSecret);
    const waitSeconds = parseWait(request.query('wait'));
    if (Number.isNaN(waitSeconds)) return refuse('invalid_wait');
    if (!isCapability(pollSecret)) return refuse('session_not_found');
    if (log.isEnabledFor('debug')) log.debug('poll_waiting', { requestId: request.id });
    // Never longer than the operator allows, because a proxy may close the connection then.
    const holdSeconds = Math.min(waitSeconds, pollSeconds);
    const claim = relay.waitForResult(pollSecret, request.raw.signal, holdSeconds);
    return claim instanceof Promise ? claim.then(respond) : respond(claim);
  };
}

/**
 * After a fault a poll is answered 204, because deployed devices take any error as
 * final. An acknowledgement is answered 503, because the result may still be stored:
 * the device repeats it.
 */
export function respondToResultFault(request: RelayRequest): Response {
  return isAcknowledgement(request) ? refuse('busy') : emptyResponse();
}

function isAcknowledgement(request: RelayRequest): boolean {
  return request.query('ack') === '1';
}

function respond(claim: Claim): Response {
  switch (claim.state) {
    case 'claimed':
      return jsonResponse(describeResult(claim.result));
    case 'pending':
      return emptyResponse();
    case 'gone':
      return refuse('session_not_found');
  }
}

/** Infinity if absent, NaN for anything but a whole number from 0 to MAX_WAIT_SECONDS. */
function parseWait(asked: string | undefined): number {
  if (asked === undefined) return Number.POSITIVE_INFINITY;
  const isWhole = /^\d{1,2}$/.test(asked) && Number(asked) <= MAX_WAIT_SECONDS;
  return isWhole ? Number(asked) : Number.NaN;
}

/** 204 also if nothing was delivered yet: then there is nothing to acknowledge. */
async function acknowledge(store: SessionStore, pollSecret: string): Promise<Response> {
  const outcome: Acknowledgement = isCapability(pollSecret)
    ? await store.acknowledge(pollSecret)
    : 'gone';
  return outcome === 'gone' ? refuse('session_not_found') : emptyResponse();
}

function describeResult(result: SessionResult): object {
  return 'accessToken' in result ? describeTokens(result, result.details === true) : result;
}
