/**
 * Whether the store can be used, for the log and for `/ready`. A load balancer sends no requests to
 * a relay that is not ready, so no request shows that a refusal has ended. While the store refuses
 * anything, and until it has accepted everything once, a script that uses every right is run at
 * intervals (`probe` of scripts.lua). docs/scaling.md "When Redis refuses commands".
 */
import type { ErrorReply } from '@redis/client';
import { STORE_LATEST_MS } from '../../limits.ts';
import type { RefusalEvent, StoreProblem } from '../../sign-ins/store.ts';
import { type Clock, pause } from '../../sign-ins/time.ts';
import {
  type ConnectFailure,
  describeConnectFailure,
  noAnswer,
  reasonOf,
  remedyForReply,
  replyIn,
  stopsEverything,
  TRANSIENT,
} from './failures.ts';
import type { RedisTarget } from './url.ts';

export type HealthEvent =
  | RefusalEvent
  | { readonly type: 'store_lost'; readonly problem: string }
  | { readonly type: 'store_back' };

export type StoreHealth = ReturnType<typeof createStoreHealth>;

export interface HealthOptions {
  readonly target: RedisTarget;
  readonly clock: Clock;
  readonly onEvent: (event: HealthEvent) => void;
  /** Runs the script. Refusals are reported to `refused` too. */
  readonly probe: () => Promise<unknown>;
  /** Makes new connections, because the address may belong to another server now. */
  readonly reconnect: () => void;
  /** Ends the probing. */
  readonly signal: AbortSignal;
}

/** The pause between two probes. */
export const STORE_PROBE_MS = 1_000;

/** A refusal has ended when it has not occurred for this long: a server may be at the limit of its memory for a while. */
export const STORE_REFUSAL_QUIET_MS = 5_000;

export function createStoreHealth(options: HealthOptions) {
  const { target, clock, onEvent, probe, reconnect, signal } = options;
  /** The current refusals, by reason. */
  const refusals = new Map<string, { readonly remedy: string; readonly lastMs: number }>();
  let isStarted = false;
  let isProbing = false;
  /** True once all commands were accepted. */
  let hasAcceptedAll = false;
  /** True if the reply to the last probe means that the server accepts nothing. */
  let acceptsNothing = false;
  let isLost = false;
  let failure: ConnectFailure | undefined;

  function refused(reply: ErrorReply): void {
    const reason = reasonOf(reply);
    if (TRANSIENT.has(reason)) return;
    const remedy = refusals.get(reason)?.remedy ?? remedyForReply(reply);
    if (!refusals.has(reason)) onEvent({ type: 'store_refuses', reason, remedy });
    refusals.set(reason, { remedy, lastMs: clock.now() });
    void keepProbing();
  }

  async function keepProbing(): Promise<void> {
    if (isProbing) return;
    isProbing = true;
    while (isStarted && !signal.aborted && (refusals.size > 0 || !hasAcceptedAll)) {
      await tryAll().catch(() => {});
      await pause(clock, STORE_PROBE_MS);
    }
    isProbing = false;
  }

  /** Rejects if there was no reply. */
  async function tryAll(): Promise<void> {
    try {
      await probe();
    } catch (error) {
      const reply = replyIn(error);
      if (reply === undefined) throw error;
      acceptsNothing = stopsEverything(reply);
      if (/^(READONLY|MASTERDOWN)$/.test(reasonOf(reply))) reconnect();
      return;
    }
    hasAcceptedAll = true;
    acceptsNothing = false;
    for (const [reason, { lastMs }] of refusals) {
      if (clock.now() - lastMs < STORE_REFUSAL_QUIET_MS) continue;
      refusals.delete(reason);
      onEvent({ type: 'store_accepts', reason });
    }
  }

  const lostBecause = () => (failure ?? noAnswer(target)).problem;

  return {
    refused,
    /** A connection or a heartbeat failed. No error means that there was no reply. */
    failed(error: unknown): void {
      failure = describeConnectFailure(error, target) ?? failure;
      const reply = replyIn(error);
      if (reply !== undefined && isStarted) refused(reply);
    },
    /** A heartbeat was received too late. */
    late(): void {
      const problem = `the server takes longer than ${STORE_LATEST_MS} ms to answer`;
      failure = { problem, isFinal: false };
    },
    /** Several heartbeats in a row were not received in time. */
    lost(): void {
      isLost = true;
      onEvent({ type: 'store_lost', problem: lostBecause() });
    },
    /** A heartbeat was received in time. */
    received(): void {
      failure = undefined;
      if (!isLost) return;
      isLost = false;
      onEvent({ type: 'store_back' });
    },
    /** Resolves after the first probe, even if it was refused. Rejects if there was no reply. */
    async start(): Promise<void> {
      await tryAll();
      isStarted = true;
      void keepProbing();
    },
    /** What the operator should know. Undefined if everything works. */
    findProblem(): StoreProblem | undefined {
      // If it cannot be reached, refusals from before are not the cause.
      const reason = isLost ? failure?.reason : [...refusals.keys()].at(-1);
      const remedy = reason && refusals.get(reason)?.remedy;
      if (!remedy && !isLost) return undefined;
      const text = remedy
        ? `store: Redis refuses commands (${reason}): ${remedy}`
        : `store: Redis is unreachable: ${lostBecause()}`;
      const isDown = isLost || acceptsNothing || !hasAcceptedAll;
      return { status: isDown ? 'down' : 'degraded', reason: text };
    },
  };
}
