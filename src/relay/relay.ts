/** The relay: starts sign-ins, completes authorizations, and drains. Knows no HTTP and no provider. */
import { DRAIN_CHECK_MS, DRAIN_DELIVERY_MS, MAX_REGISTER_TRIES } from '../limits.ts';
import { createPolls, type Polls } from './polls.ts';
import {
  createSessionSecrets,
  createVerifier,
  type RandomBytes,
  type SessionSecrets,
  tagOf,
} from './secrets.ts';
import type { CodeResult, ErrorResult, TokenResult } from './session.ts';
import type { Authorization, RateLimited, SessionStore } from './store.ts';
import { type Clock, pause } from './time.ts';

/** What a device asks for besides the service. */
export interface StartOptions {
  readonly withVerifier: boolean;
  /** The device's own, in place of a verifier. */
  readonly challenge: string | undefined;
  readonly details: boolean;
  readonly withUserCode: boolean;
  readonly deviceName: string | undefined;
  /** As in NewSession. */
  readonly repeatMs: number | undefined;
  readonly keepsErrors: boolean;
  /** The address whose rate limit counts the start. */
  readonly startedBy?: string | undefined;
}

/** The user code is there if it was asked for. */
export type Started = SessionSecrets;

export type StartRefusal = 'busy' | 'draining' | RateLimited;

export type ExchangeOutcome<Failure> =
  | { readonly ok: true; readonly tokens: TokenResult }
  | { readonly ok: false; readonly failure: Failure };

/** What exchanges a code. Settles within EXCHANGE_TIMEOUT_MS and never rejects. */
export interface CodeExchanger<Failure> {
  readonly name: string;
  /** Reserves a place for one exchange. Returns false when there is none, and the code is not spent. */
  reserve(): boolean;
  release(): void;
  /** What a device needs that exchanges the code itself. */
  codeForDevice(code: string): CodeResult;
  exchange(code: string, verifier: string | undefined): Promise<ExchangeOutcome<Failure>>;
}

/** Why a link or a callback leads nowhere. 'cancelled': the device has ended the session. */
export type LinkRefusal = 'link_invalid' | 'cancelled';

/** How a callback ended. A LinkRefusal: the session could not take the result. 'busy': the code is not spent. */
export type Completion = 'signed_in' | 'busy' | LinkRefusal | ErrorResult['error'];

/** The device's name is for the page that the user sees. */
export interface CodeCompletion<Failure> {
  readonly completion: Completion;
  readonly deviceName?: string | undefined;
  readonly failure?: Failure;
}

export interface Relay {
  /** Starts a session. 'busy': the limit on sessions is reached. */
  start(service: string, options: StartOptions): Promise<Started | StartRefusal>;
  /** Exchanges a code and stores the result. The code is spent at most once, however often it is called. */
  completeWithCode<Failure>(
    exchanger: CodeExchanger<Failure>,
    browserState: string,
    code: string,
  ): Promise<CodeCompletion<Failure>>;
  /** Ends a sign-in that brought no code. */
  completeWithError(
    service: string,
    browserState: string,
    error: ErrorResult['error'],
  ): Promise<CodeCompletion<never>>;
  readonly waitForResult: Polls['wait'];
  readonly countParked: Polls['countParked'];
  /** Lets every parked poll return 'pending'. Takes no new session and no new code. Polls may park again. */
  drain(): void;
  /**
   * After `drain`: resolves once every code that was taken has become a result, and
   * devices have had time to claim the results that this process alone holds.
   */
  delivered(): Promise<void>;
  /** As `drain`, and from now on no poll parks. */
  close(): void;
}

export interface RelayOptions {
  readonly store: SessionStore;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly sessionSeconds: number;
}

export function createRelay(options: RelayOptions): Relay {
  const { store, clock, randomBytes, sessionSeconds } = options;
  const polls = createPolls(store, clock);
  /** Counted from before the lease until the result is stored, because a lease cannot be undone. */
  let exchanges = 0;
  let onIdle: (() => void) | undefined;
  let draining = false;

  return {
    async start(service, { withVerifier, withUserCode, startedBy, ...asked }) {
      if (draining) return 'draining';
      const { tags = 1 } = store;
      const full = new Set<number>();
      // After a collision all secrets are drawn again. A full tag says nothing of the others.
      for (let tries = 0; tries < MAX_REGISTER_TRIES && full.size < tags; tries += 1) {
        const secrets = createSessionSecrets(randomBytes, { withUserCode, tags, without: full });
        const outcome = await store.register({
          ...secrets,
          service,
          lifetimeMs: sessionSeconds * 1_000,
          verifier: withVerifier ? createVerifier(randomBytes) : undefined,
          ...asked,
          // One token for all tries.
          startedBy: tries === 0 ? startedBy : undefined,
        });
        if (outcome === 'registered') return secrets;
        if (typeof outcome === 'object') return outcome;
        if (outcome === 'busy') full.add(tagOf(secrets.browserState, tags));
      }
      return 'busy';
    },

    async completeWithCode(exchanger, browserState, code) {
      // Another instance, or the next process, may exchange the code.
      if (draining || !exchanger.reserve()) return { completion: 'busy' };
      exchanges += 1;
      try {
        const { name } = exchanger;
        const leased = await store.lease(name, browserState);
        if (leased === undefined) {
          return { completion: await findLinkRefusal(store, browserState) };
        }
        if (leased.challenge !== undefined) {
          // The device has the verifier, so nobody else can exchange the code.
          const isStored = await store.complete(name, browserState, exchanger.codeForDevice(code));
          return {
            completion: isStored ? 'signed_in' : 'link_invalid',
            deviceName: leased.deviceName,
          };
        }
        const { deviceName } = leased;
        const outcome = await exchanger.exchange(code, leased.verifier);
        const result = outcome.ok ? withDetails(outcome.tokens, leased) : EXCHANGE_FAILED;
        const isStored = await store.complete(name, browserState, result);
        const ended = outcome.ok ? 'signed_in' : 'exchange_failed';
        const completion = isStored ? ended : await findLinkRefusal(store, browserState);
        return outcome.ok
          ? { completion, deviceName }
          : { completion, deviceName, failure: outcome.failure };
      } finally {
        exchanger.release();
        exchanges -= 1;
        if (exchanges === 0) onIdle?.();
      }
    },

    async completeWithError(service, browserState, error) {
      // Before the session ends, which removes the name.
      const session = await store.getSession({ browserState });
      const isStored = await store.fail(service, browserState, { error });
      const completion = isStored ? error : await findLinkRefusal(store, browserState);
      const deviceName = typeof session === 'object' ? session.deviceName : undefined;
      return { completion, deviceName };
    },

    waitForResult: polls.wait,
    countParked: polls.countParked,

    drain() {
      draining = true;
      polls.release();
    },

    async delivered() {
      if (exchanges > 0) {
        await new Promise<void>((resolve) => {
          onIdle = resolve;
        });
      }
      const untilMs = clock.now() + DRAIN_DELIVERY_MS;
      while (store.hasUndelivered() && clock.now() < untilMs) await pause(clock, DRAIN_CHECK_MS);
    },

    close() {
      draining = true;
      polls.close();
    },
  };
}

function withDetails(tokens: TokenResult, { details }: Authorization): TokenResult {
  return details ? { ...tokens, details } : tokens;
}

/** For a session that was looked for and is not pending. */
export async function findLinkRefusal(
  store: SessionStore,
  browserState: string,
): Promise<LinkRefusal> {
  const found = await store.getSession({ browserState });
  return found === 'cancelled' ? 'cancelled' : 'link_invalid';
}

const EXCHANGE_FAILED: ErrorResult = { error: 'exchange_failed' };
