/**
 * What endpoints log and count about a sign-in. Each failure has a hint, which names the
 * setting to change. docs/operating.md lists the events.
 */
import { log, warnOnce } from '../log.ts';
import type { Monitor } from '../monitor.ts';
import {
  hintForAuthorizationError,
  hintForExpired,
  hintForTokenFailure,
} from '../providers/hints.ts';
import type { Provider, Providers } from '../providers/provider.ts';
import type { TokenFailure } from '../providers/token-endpoint.ts';
import type { CallbackOutcome, StartOutcome } from '../relay/relay.ts';
import { signInIdOf } from '../relay/secrets.ts';
import type { StoreObserver } from '../relay/store.ts';
import type { RelayRequest } from './request.ts';

export interface SignInLog {
  started(request: RelayRequest, service: string, outcome: StartOutcome): void;
  /** The user was redirected to the provider, not necessarily for the first time. */
  opened(request: RelayRequest, service: string, browserState: string): void;
  /** A browser came back, or the user declined on the page of the relay. */
  finished(
    request: RelayRequest,
    service: string,
    browserState: string,
    outcome: CallbackOutcome | 'declined',
  ): void;
  /** `error` is a standard error code, `other`, or `none` if the provider sent neither error nor code. */
  authorizationFailed(
    request: RelayRequest,
    provider: Provider,
    browserState: string,
    error: string,
  ): void;
  exchangeFailed(
    request: RelayRequest,
    provider: Provider,
    browserState: string,
    failure: TokenFailure,
  ): void;
  refreshFailed(request: RelayRequest, provider: Provider, failure: TokenFailure): void;
  revocationFailed(request: RelayRequest, provider: Provider, failure: TokenFailure): void;
  /** Passed to the store. */
  readonly observer: StoreObserver;
}

const SESSIONS_FULL_HINT =
  'the limit on open sign-ins is reached (MAX_SESSIONS): starts get a 503 until one ends';

/** Stale links are routine, and 'busy' does not end the sign-in. */
const NO_END: ReadonlySet<string> = new Set(['link_invalid', 'cancelled', 'busy']);

export function endsSignIn<Outcome extends string>(
  outcome: Outcome,
): outcome is Exclude<Outcome, 'link_invalid' | 'cancelled' | 'busy'> {
  return !NO_END.has(outcome);
}

export function createSignInLog(providers: Providers, monitor: Monitor): SignInLog {
  const warnOfFull = warnOnce('sessions_full', SESSIONS_FULL_HINT);

  function fail(
    event: 'authorization_failed' | 'exchange_failed' | 'refresh_failed' | 'revocation_failed',
    request: RelayRequest,
    { name }: Provider,
    fields: { readonly signIn?: string; readonly hint: string; readonly [field: string]: unknown },
  ): void {
    const { signIn, hint, ...rest } = fields;
    const own = signIn === undefined ? rest : { signIn, ...rest };
    log.warning(event, { requestId: request.id, service: name, ...own, hint });
    monitor.failed({ event, service: name, signIn, hint });
  }

  return {
    started(request, service, outcome) {
      if (!outcome.ok) {
        if (outcome.refusal === 'busy') warnOfFull();
        return;
      }
      monitor.started(service);
      if (!log.isEnabledFor('debug')) return;
      const signIn = signInIdOf(outcome.secrets.browserState);
      log.debug('sign_in_started', { requestId: request.id, service, signIn });
    },

    opened(request, service, browserState) {
      if (!log.isEnabledFor('debug')) return;
      const signIn = signInIdOf(browserState);
      log.debug('sign_in_opened', { requestId: request.id, service, signIn });
    },

    finished(request, service, browserState, outcome) {
      const isEnd = endsSignIn(outcome);
      if (isEnd) {
        if (outcome !== 'declined') monitor.calledBack(service);
        monitor.ended(service, outcome);
      }
      const level = isEnd ? 'info' : 'debug';
      if (!log.isEnabledFor(level)) return;
      const signIn = signInIdOf(browserState);
      log[level]('sign_in_finished', { requestId: request.id, service, signIn, outcome });
    },

    authorizationFailed(request, provider, browserState, error) {
      const signIn = signInIdOf(browserState);
      const hint = hintForAuthorizationError(provider, error);
      fail('authorization_failed', request, provider, { signIn, providerError: error, hint });
    },

    exchangeFailed(request, provider, browserState, failure) {
      const signIn = signInIdOf(browserState);
      const hint = hintForTokenFailure(provider, failure, 'exchange');
      fail('exchange_failed', request, provider, { signIn, ...failure, hint });
    },

    refreshFailed(request, provider, failure) {
      const hint = hintForTokenFailure(provider, failure, 'refresh');
      fail('refresh_failed', request, provider, { ...failure, hint });
    },

    revocationFailed(request, provider, failure) {
      const hint = hintForTokenFailure(provider, failure, 'revoke');
      fail('revocation_failed', request, provider, { ...failure, hint });
    },

    observer: {
      opened: monitor.opened,
      delivered: monitor.delivered,
      cancelled: (service) => monitor.ended(service, 'cancelled'),
      expired({ service, stage, signIn }) {
        const found = providers.find(service);
        const hint = hintForExpired(found.ok ? found.provider : undefined, stage);
        log.info('sign_in_expired', { service, signIn, stage, hint });
        monitor.expired(service, stage);
        monitor.ended(service, 'expired');
        // Links that nobody opened are routine.
        if (stage !== 'started') {
          monitor.failed({ event: 'sign_in_expired', service, signIn, hint });
        }
      },
    },
  };
}
