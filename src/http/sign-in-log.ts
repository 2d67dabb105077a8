/**
 * What endpoints log and count about a sign-in. Each failure has a hint, which names the
 * setting to change. docs/reference.md lists the events.
 */
import { log, warnOnce } from '../log.ts';
import type { Grant, Monitor } from '../monitor.ts';
import {
  hintForAuthorizationError,
  hintForExpired,
  hintForTokenFailure,
} from '../providers/hints.ts';
import type { Provider, Providers } from '../providers/provider.ts';
import type { TokenFailure } from '../providers/token-response.ts';
import { signInIdOf } from '../sign-ins/secrets.ts';
import type { ExpiredStage } from '../sign-ins/session.ts';
import {
  type EndedCallback,
  isFinal,
  type SignInObserver,
  type StartOutcome,
} from '../sign-ins/sign-ins.ts';
import type { RelayRequest } from './request.ts';

const SESSIONS_FULL_HINT =
  'MAX_SESSIONS sign-ins are in progress, so starts get a 503: raise it, or lower START_BURST and START_RATE if somebody abuses starts';

const OPEN_SESSIONS_FULL_HINT =
  'half of MAX_SESSIONS is in use, the limit for open sign-ins: starts of these get a 503 until a sign-in ends';

const ORIGIN_HIDDEN_HINT =
  'a form arrived with `Origin: null` and was refused: a proxy may add `Referrer-Policy: no-referrer` to the pages of the relay; remove it there (docs/proxies.md)';

const FAILURE_EVENTS = {
  exchange: 'exchange_failed',
  refresh: 'refresh_failed',
  revoke: 'revocation_failed',
} as const;

export class SignInLog {
  readonly #warnOfFull = warnOnce('sessions_full', SESSIONS_FULL_HINT);
  readonly warnOfOpenFull = warnOnce('sessions_full', OPEN_SESSIONS_FULL_HINT);
  readonly warnOfHiddenOrigin = warnOnce('origin_hidden', ORIGIN_HIDDEN_HINT);

  constructor(
    private readonly providers: Providers,
    private readonly monitor: Monitor,
  ) {}

  started(request: RelayRequest, service: string, outcome: StartOutcome): void {
    if (!outcome.ok) {
      if (outcome.refusal === 'busy') this.#warnOfFull();
      return;
    }
    this.monitor.started(service);
    if (!log.isEnabledFor('debug')) return;
    const signIn = signInIdOf(outcome.secrets.browserState);
    log.debug('sign_in_started', { requestId: request.id, service, signIn });
  }

  /** The user was redirected to the provider, not necessarily for the first time. */
  opened(request: RelayRequest, service: string, browserState: string): void {
    if (!log.isEnabledFor('debug')) return;
    const signIn = signInIdOf(browserState);
    log.debug('sign_in_opened', { requestId: request.id, service, signIn });
  }

  /** A browser came back, or the user declined on the page of the relay. */
  finished(
    request: RelayRequest,
    service: string,
    browserState: string,
    outcome: EndedCallback<unknown>['outcome'] | 'declined',
  ): void {
    const isEnd = isFinal(outcome);
    if (isEnd) {
      if (outcome !== 'declined') this.monitor.calledBack(service);
      this.monitor.ended(service, outcome);
    }
    const level = isEnd ? 'info' : 'debug';
    if (!log.isEnabledFor(level)) return;
    const signIn = signInIdOf(browserState);
    log[level]('sign_in_finished', { requestId: request.id, service, signIn, outcome });
  }

  /** The user declined, and the provider does not say `access_denied`. */
  authorizationCancelled(request: RelayRequest, service: string, browserState: string): void {
    const signIn = signInIdOf(browserState);
    log.info('authorization_cancelled', { requestId: request.id, service, signIn });
  }

  /** `error` is an OAuth error code, `other`, `error_code`, or `none` if the provider sent no error and no code. */
  authorizationFailed(
    request: RelayRequest,
    provider: Provider,
    browserState: string,
    error: string,
  ): void {
    const { name: service } = provider;
    const signIn = signInIdOf(browserState);
    const hint = hintForAuthorizationError(provider, error);
    const fields = { requestId: request.id, service, signIn, providerError: error, hint };
    log.warning('authorization_failed', fields);
    this.monitor.failed({ event: 'authorization_failed', service, signIn, hint });
  }

  /** A request to the provider failed. Only an exchange has a browser state. */
  fail(
    grant: Grant,
    request: RelayRequest,
    provider: Provider,
    failure: TokenFailure,
    browserState?: string,
  ): void {
    const { name: service } = provider;
    const signIn = browserState && signInIdOf(browserState);
    const hint = hintForTokenFailure(provider, failure, grant);
    const event = FAILURE_EVENTS[grant];
    const { description: _, ...logged } = failure;
    const fields = { service, ...(signIn && { signIn }), ...logged, hint };
    log.warning(event, { requestId: request.id, ...fields });
    this.monitor.failed({ event, service, signIn, hint });
  }

  /** What sign-ins report. */
  observer(): SignInObserver {
    const monitor = this.monitor;
    return {
      opened: monitor.opened,
      delivered: monitor.delivered,
      resultLost: (service, signIn) => log.error('result_lost', { service, signIn }),
      cancelled: (service) => monitor.ended(service, 'cancelled'),
      expired: (...expired) => this.#expired(...expired),
    };
  }

  #expired(service: string, stage: ExpiredStage, signIn: string): void {
    const found = this.providers.find(service);
    const hint = hintForExpired(found.ok ? found.provider : undefined, stage);
    log.info('sign_in_expired', { service, signIn, stage, hint });
    this.monitor.expired(service, stage);
    this.monitor.ended(service, 'expired');
    // Links that nobody opened are routine.
    if (stage !== 'started') {
      this.monitor.failed({ event: 'sign_in_expired', service, signIn, hint });
    }
  }
}
