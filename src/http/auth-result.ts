/** `GET /auth/result`: the device waits for its tokens. `protocol.md` §4. */
import { MAX_WAIT_SECONDS } from '../limits.ts';
import { log } from '../operate/log.ts';
import type { SessionResult } from '../relay/session.ts';
import { emptyAnswer, jsonAnswer } from './answers.ts';
import type { AuthDoorOptions } from './auth-options.ts';
import { refuse, refuseMethod } from './errors.ts';
import type { Handler } from './guard.ts';

export function createResult({ relay, pollSeconds }: AuthDoorOptions): Handler {
  return async ({ req }, requestId) => {
    if (req.method !== 'GET') return refuseMethod('GET');
    const pollSecret = req.query('session') ?? '';
    if (req.query('ack') === '1') return answerAcknowledged(await relay.acknowledge(pollSecret));
    const waitSeconds = parseWait(req.query('wait'));
    if (Number.isNaN(waitSeconds)) return refuse('invalid_wait');
    log.debug('poll_waiting', { requestId });
    // The operator's own hold is the longest: it may be all that a proxy bears.
    const holdSeconds = Math.min(waitSeconds, pollSeconds);
    const claim = await relay.wait(pollSecret, req.raw.signal, holdSeconds);
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

/** Infinity when nothing is asked, NaN for what is no whole number from 0 to MAX_WAIT_SECONDS. */
function parseWait(given: string | undefined): number {
  if (given === undefined) return Number.POSITIVE_INFINITY;
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
