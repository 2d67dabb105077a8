/**
 * The relay: start, open, finish, wait, drain. What it promises is
 * `protocol.md` §3; how a request or an answer looks is not its affair.
 */
import { MAX_REGISTER_TRIES } from '../limits.ts';
import type { Clock } from './clock.ts';
import { createPolls, type Polls } from './polls.ts';
import { createCapability, createVerifier, type RandomBytes } from './secrets.ts';
import type { ErrorResult, SessionResult, TokenResult } from './session.ts';
import type { Opened, SessionStore } from './store.ts';

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

/** How a callback ended. 'link_invalid': the session could not take the result; 'draining': the code is not spent. */
export type Finish = 'signed_in' | 'link_invalid' | 'draining' | ErrorResult['error'];

export type Start =
  | { readonly ok: true; readonly pollSecret: string; readonly browserState: string }
  | { readonly ok: false; readonly refusal: 'busy' | 'draining' };

export interface Relay {
  /** Opens a session, or refuses because as many as may be are alive. */
  start(service: string, options: { withVerifier: boolean }): Promise<Start>;
  /** Says whether the link still leads somewhere, and with which verifier. */
  open(service: string, browserState: string): Promise<Opened | undefined>;
  /** Brings the session to its end. The code is exchanged at most once, whoever calls how often. */
  finish(
    service: string,
    browserState: string,
    callback: Callback,
    exchange: Exchange,
  ): Promise<Finish>;
  readonly wait: Polls['wait'];
  /** Lets every parked poll return 'pending'; takes no new session and no new code. Polls may park again. */
  drain(): void;
  /** As `drain`, and from now on no poll is held. */
  close(): void;
  /** How many codes are at a provider now. */
  readonly exchanges: number;
  /** Resolves when those that are there now have come back. */
  settled(): Promise<void>;
}

export function createRelay(options: RelayOptions): Relay {
  const { store, clock, randomBytes } = options;
  const polls = createPolls(store, clock, options.pollSeconds * 1_000);
  const exchanges = new Set<Promise<Finish>>();
  let draining = false;

  async function start(service: string, { withVerifier }: { withVerifier: boolean }) {
    // A collision makes both capabilities anew. protocol.md §2.
    if (draining) return { ok: false, refusal: 'draining' } as const;
    for (let tries = 0; tries < MAX_REGISTER_TRIES; tries += 1) {
      const browserState = createCapability(randomBytes);
      const pollSecret = createCapability(randomBytes);
      const session = {
        browserState,
        pollSecret,
        service,
        lifetimeMs: options.sessionSeconds * 1_000,
        ...(withVerifier && { verifier: createVerifier(randomBytes) }),
      };
      const outcome = await store.register(session, clock.now());
      if (outcome === 'registered') return { ok: true, pollSecret, browserState } as const;
      if (outcome === 'busy') break;
    }
    return { ok: false, refusal: 'busy' } as const;
  }

  async function finish(
    service: string,
    browserState: string,
    callback: Callback,
    exchange: Exchange,
  ): Promise<Finish> {
    if (callback.type !== 'code') {
      const result = errorResultOf(callback);
      const taken = await store.fail(service, browserState, result, clock.now());
      return taken ? result.error : 'link_invalid';
    }
    // Left unspent: another process may take it, or this one's successor.
    if (draining) return 'draining';
    const lease = await store.lease(service, browserState, clock.now());
    if (lease === undefined) return 'link_invalid';
    const { code } = callback;
    return track(async () => {
      const result = await runExchange(exchange, code, lease.verifier);
      const taken = await store.complete(service, browserState, result, clock.now());
      if (!taken) return 'link_invalid';
      return 'error' in result ? result.error : 'signed_in';
    });
  }

  /** An exchange is under way until its result is put down. */
  async function track(run: () => Promise<Finish>): Promise<Finish> {
    const exchange = run();
    exchanges.add(exchange);
    try {
      return await exchange;
    } finally {
      exchanges.delete(exchange);
    }
  }

  return {
    start,
    open: (service, browserState) => store.open(service, browserState, clock.now()),
    finish,
    wait: polls.wait,
    drain() {
      draining = true;
      polls.release();
    },
    close() {
      draining = true;
      polls.close();
    },
    get exchanges() {
      return exchanges.size;
    },
    async settled() {
      await Promise.allSettled(exchanges);
    },
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
