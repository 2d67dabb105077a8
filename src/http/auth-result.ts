/** `GET /auth/result`: the device waits for its tokens. `protocol.md` §4. */
import { log } from '../operate/log.ts';
import { emptyAnswer, jsonAnswer } from './answers.ts';
import type { AuthDoorOptions } from './auth-options.ts';
import { refuse, refuseMethod } from './errors.ts';
import type { Handler } from './guard.ts';

export function createResult({ relay }: AuthDoorOptions): Handler {
  return async ({ req }, requestId) => {
    if (req.method !== 'GET') return refuseMethod('GET');
    log.debug('poll_waiting', { requestId });
    const claim = await relay.wait(req.query('session') ?? '', req.raw.signal);
    switch (claim.state) {
      case 'claimed':
        log.debug('result_delivered', { requestId });
        return jsonAnswer(claim.result);
      case 'pending':
        return emptyAnswer();
      case 'gone':
        return refuse('session_not_found');
    }
  };
}
