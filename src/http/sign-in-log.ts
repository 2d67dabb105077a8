/** Logs the start of sign-ins, the same for both endpoints that start them. */
import { log, warnOnce } from '../log.ts';
import type { Started } from '../relay/relay.ts';
import type { RelayRequest } from './request.ts';

export interface SignInLog {
  started(request: RelayRequest, service: string, started: Started | 'busy' | 'draining'): void;
}

const SESSIONS_FULL_HINT =
  'the limit on open sign-ins is reached (MAX_SESSIONS): starts are answered 503 until one ends';

export function createSignInLog(): SignInLog {
  const warnOfFull = warnOnce('sessions_full', SESSIONS_FULL_HINT);
  return {
    started(request, service, started) {
      if (started === 'busy') warnOfFull();
      else if (started !== 'draining' && log.isEnabledFor('debug')) {
        log.debug('sign_in_started', { requestId: request.id, service });
      }
    },
  };
}
