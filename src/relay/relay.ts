/** The relay: start, open, finish, wait, drain. Knows no HTTP. */
import { DRAIN_DELIVERY_MS, DRAIN_LOOK_MS, MAX_REGISTER_TRIES } from '../limits.ts';
import { type Clock, pause } from './clock.ts';
import { createInFlight, type InFlight } from './in-flight.ts';
import { createPolls, type Polls } from './polls.ts';
import {
  createCapability,
  createUserCode,
  createVerifier,
  isCapability,
  type RandomBytes,
} from './secrets.ts';
import type { ErrorResult, SessionResult, TokenResult } from './session.ts';
import type { Acknowledgement, FindBy, Found, NewSession, Opened, SessionStore } from './store.ts';

export interface RelayOptions {
  readonly store: SessionStore;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly sessionSeconds: number;
  readonly pollSeconds: number;
}

/** What the provider sent the person back with. */
export type Callback =
  | { readonly type: 'error'; readonly error: string }
  | { readonly type: 'code'; readonly code: string }
  | { readonly type: 'nothing' };

/** Takes a code to the provider. Settles within EXCHANGE_TIMEOUT_MS; undefined: no tokens came. */
export type Exchange = (code: string, verifier?: string) => Promise<TokenResult | undefined>;

/** How a callback ended. 'link_invalid': the session could not take the result; 'busy': the code is not spent. */
export type Finish = 'signed_in' | 'link_invalid' | 'busy' | ErrorResult['error'];

export interface StartOptions {
  readonly withVerifier: boolean;
  readonly withUserCode?: boolean;
  readonly deviceName?: string;
  /** As in NewSession. */
  readonly repeatMs?: number;
  readonly keepsErrors?: boolean;
}

export interface Started {
  readonly ok: true;
  readonly pollSecret: string;
  readonly browserState: string;
  /** Present when it was asked for. */
  readonly userCode?: string;
}

export type Start = Started | { readonly ok: false; readonly refusal: 'busy' | 'draining' };

export interface Relay {
  /** Opens a session, or refuses because as many as may be are alive. */
  start(service: string, options: StartOptions): Promise<Start>;
  /** Says whether the link still leads somewhere, and with which verifier. */
  open(service: string, browserState: string): Promise<Opened | undefined>;
  /** What the person is to see of a session that waits. Changes nothing. */
  find(by: FindBy): Promise<Found | undefined>;
  /** Uses up a user code; the session's link goes on leading to it. */
  useCode(userCode: string): Promise<Found | undefined>;
  /** The person does not want it. Returns whether the device is told so by this call. */
  decline(service: string, browserState: string): Promise<boolean>;
  /** Brings the session to its end. The code is exchanged at most once, whoever calls how often. */
  finish(
    service: string,
    browserState: string,
    callback: Callback,
    exchange: Exchange,
  ): Promise<Finish>;
  readonly wait: Polls['wait'];
  /** The device has its result. */
  acknowledge(pollSecret: string): Promise<Acknowledgement>;
  /** Lets every parked poll return 'pending'; takes no new session and no new code. Polls may park again. */
  drain(): void;
  /** As `drain`, and from now on no poll is held. */
  close(): void;
  /**
   * After `drain`: resolves once every code that was brought here has become a
   * result, and devices have had time to fetch those that this process alone holds.
   */
  delivered(): Promise<void>;
  /** Resolves once no request to the store is under way that changes something. */
  settled(): Promise<void>;
}

const NOT_FOUND = Promise.resolve(undefined);

export function createRelay(options: RelayOptions): Relay {
  const { clock, randomBytes } = options;
  const changes = createInFlight();
  const exchanges = createInFlight();
  const store = trackChanges(options.store, changes);
  const polls = createPolls(store, clock, options.pollSeconds);
  let draining = false;

  async function start(service: string, asked: StartOptions): Promise<Start> {
    if (draining) return { ok: false, refusal: 'draining' };
    // A collision makes everything anew. protocol.md §2.
    for (let tries = 0; tries < MAX_REGISTER_TRIES; tries += 1) {
      const session = createSession(service, asked);
      const outcome = await store.register(session, clock.now());
      const { browserState, pollSecret, userCode } = session;
      if (outcome === 'registered') {
        return { ok: true, pollSecret, browserState, ...(userCode !== undefined && { userCode }) };
      }
      if (outcome === 'busy') break;
    }
    return { ok: false, refusal: 'busy' };
  }

  function createSession(service: string, asked: StartOptions): NewSession {
    const { deviceName, repeatMs, keepsErrors } = asked;
    return {
      browserState: createCapability(randomBytes),
      pollSecret: createCapability(randomBytes),
      service,
      lifetimeMs: options.sessionSeconds * 1_000,
      ...(asked.withVerifier && { verifier: createVerifier(randomBytes) }),
      ...(asked.withUserCode && { userCode: createUserCode(randomBytes) }),
      ...(deviceName !== undefined && { deviceName }),
      ...(repeatMs !== undefined && { repeatMs }),
      ...(keepsErrors && { keepsErrors }),
    };
  }

  async function finish(
    service: string,
    browserState: string,
    callback: Callback,
    exchange: Exchange,
  ): Promise<Finish> {
    if (!isCapability(browserState)) return 'link_invalid';
    if (callback.type !== 'code') {
      const result = errorResultOf(callback);
      const taken = await store.fail(service, browserState, result, clock.now());
      return taken ? result.error : 'link_invalid';
    }
    // Left unspent: another process may take it, or this one's successor.
    if (draining) return 'busy';
    const { code } = callback;
    // From before the lease until the result is stored: a lease that is given cannot be returned.
    return exchanges.track(async () => {
      const lease = await store.lease(service, browserState, clock.now());
      if (lease === undefined) return 'link_invalid';
      const result = await runExchange(exchange, code, lease.verifier);
      const taken = await store.complete(service, browserState, result, clock.now());
      if (!taken) return 'link_invalid';
      return 'error' in result ? result.error : 'signed_in';
    });
  }

  return {
    start,
    open: (service, browserState) =>
      isCapability(browserState) ? store.open(service, browserState, clock.now()) : NOT_FOUND,
    find: (by) =>
      'userCode' in by || isCapability(by.browserState) ? store.find(by, clock.now()) : NOT_FOUND,
    useCode: (userCode) => store.useCode(userCode, clock.now()),
    async decline(service, browserState) {
      if (!isCapability(browserState)) return false;
      return store.fail(service, browserState, { error: 'access_denied' }, clock.now());
    },
    finish,
    wait: (pollSecret, signal, holdSeconds) =>
      isCapability(pollSecret)
        ? polls.wait(pollSecret, signal, holdSeconds)
        : Promise.resolve({ state: 'gone' }),
    acknowledge: (pollSecret) =>
      isCapability(pollSecret)
        ? store.acknowledge(pollSecret, clock.now())
        : Promise.resolve('gone'),
    drain() {
      draining = true;
      polls.release();
    },
    close() {
      draining = true;
      polls.close();
    },
    async delivered() {
      await exchanges.settled();
      const untilMs = clock.now() + DRAIN_DELIVERY_MS;
      while (store.hasUndelivered(clock.now()) && clock.now() < untilMs) {
        await pause(clock, DRAIN_LOOK_MS);
      }
    },
    async settled() {
      await changes.settled();
      await store.settled();
    },
  };
}

/** The store, with every verb that changes something counted. */
function trackChanges(store: SessionStore, { track }: InFlight): SessionStore {
  return {
    ...store,
    register: (...asked) => track(() => store.register(...asked)),
    useCode: (...asked) => track(() => store.useCode(...asked)),
    fail: (...asked) => track(() => store.fail(...asked)),
    lease: (...asked) => track(() => store.lease(...asked)),
    complete: (...asked) => track(() => store.complete(...asked)),
    claim: (...asked) => track(() => store.claim(...asked)),
    acknowledge: (...asked) => track(() => store.acknowledge(...asked)),
  };
}

/** A failed exchange is an outcome of the sign-in, whatever it was that failed. */
async function runExchange(
  exchange: Exchange,
  code: string,
  verifier: string | undefined,
): Promise<SessionResult> {
  try {
    return (await exchange(code, verifier)) ?? { error: 'exchange_failed' };
  } catch {
    return { error: 'exchange_failed' };
  }
}

/** `protocol.md` §3: 'access_denied' is told apart, any other error is not. */
function errorResultOf(callback: Exclude<Callback, { type: 'code' }>): ErrorResult {
  if (callback.type === 'nothing') return { error: 'missing_code' };
  return {
    error: callback.error === 'access_denied' ? 'access_denied' : 'authorization_failed',
  };
}
