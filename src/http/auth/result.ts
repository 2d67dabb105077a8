/** `GET /auth/result`: the device waits for its tokens. `protocol.md` §4. */
import { HANDLER_DEADLINE_MS, MAX_WAIT_SECONDS } from '../../limits.ts';
import { log } from '../../operate/log.ts';
import { createDeadlines } from '../../relay/deadlines.ts';
import type { SessionResult } from '../../relay/session.ts';
import { emptyAnswer, jsonAnswer } from '../answers.ts';
import type { AuthDoorOptions } from '../door-options.ts';
import { refuse, refuseMethod } from '../errors.ts';
import { guard, type Handler } from '../guard.ts';
import { queryOf } from '../request-context.ts';

/** A poll is held for most of its life, and with it all that was made for it: so it is made of little. */
export function createAnswerPoll(
  options: AuthDoorOptions,
): (request: Request) => Promise<Response> {
  const deadlineMs = options.pollSeconds * 1_000 + HANDLER_DEADLINE_MS;
  const deadlines = createDeadlines(options.clock, deadlineMs);
  return guard(POLL_PATH, createResult(options), deadlines, answerFault);
}

export const POLL_PATH = '/auth/result';

function createResult({ relay, pollSeconds }: AuthDoorOptions): Handler<Request> {
  return async ({ method, url, signal }, requestId) => {
    if (method !== 'GET') return refuseMethod('GET');
    const query = queryOf(url);
    const pollSecret = query.get('session') ?? '';
    if (isAcknowledgement(query)) return answerAcknowledged(await relay.acknowledge(pollSecret));
    const waitSeconds = parseWait(query.get('wait'));
    if (Number.isNaN(waitSeconds)) return refuse('invalid_wait');
    log.debug('poll_waiting', { requestId });
    // The operator's own hold is the longest: it may be all that a proxy bears.
    const holdSeconds = Math.min(waitSeconds, pollSeconds);
    const claim = await relay.wait(pollSecret, signal, holdSeconds);
    switch (claim.state) {
      case 'claimed':
        log.debug('result_delivered', { requestId });
        return jsonAnswer(shownOf(claim.result));
      case 'pending':
        return emptyAnswer();
      case 'gone':
        return refuse('session_not_found');
    }
  };
}

/**
 * After a fault a poll is answered 204, because to devices in the field any error
 * is final. An acknowledgement is answered 503, because the result may still be
 * kept: the device repeats it.
 */
function answerFault({ url }: Request): Response {
  return isAcknowledgement(queryOf(url)) ? refuse('busy') : emptyAnswer();
}

function isAcknowledgement(query: URLSearchParams): boolean {
  return query.get('ack') === '1';
}

/** Infinity when nothing is asked, NaN for what is no whole number from 0 to MAX_WAIT_SECONDS. */
function parseWait(given: string | null): number {
  if (given === null) return Number.POSITIVE_INFINITY;
  const isWhole = /^\d{1,2}$/.test(given) && Number(given) <= MAX_WAIT_SECONDS;
  return isWhole ? Number(given) : Number.NaN;
}

/** 204 also before anything was delivered: then there is nothing to confirm yet. */
function answerAcknowledged(acknowledgement: 'acknowledged' | 'early' | 'gone'): Response {
  return acknowledgement === 'gone' ? refuse('session_not_found') : emptyAnswer();
}

/** `protocol.md` §2 names what is shown; the rest is for the door of RFC 8628. */
function shownOf(result: SessionResult): object {
  if ('error' in result) return result;
  const { accessToken, refreshToken, expiresIn } = result;
  return { accessToken, refreshToken, expiresIn };
}
