/**
 * Whether the store can be used, for the log and for `/ready`. A refusal may not be noticed by
 * requests again: a load balancer sends none to a relay that is not ready. So while the store
 * refuses anything, and until it has accepted everything once, a script that uses every right
 * is run at intervals (scripts/probe.lua). docs/scaling.md "When Redis refuses commands".
 */
import type { ErrorReply } from '@redis/client';
import type { StoreProblem } from '../../sign-ins/store.ts';
import { type Clock, pause } from '../../sign-ins/time.ts';
import {
  type ConnectFailure,
  describeConnectFailure,
  noAnswer,
  PASSING,
  reasonOf,
  remedyFor,
  replyIn,
  stopsEverything,
} from './failures.ts';
import type { Script } from './scripts.ts';
import type { RedisTarget } from './url.ts';

export type HealthEvent =
  /** `reason` is the first word of the server's error. */
  | { readonly type: 'store_refuses'; readonly reason: string; readonly remedy: string }
  | { readonly type: 'store_accepts'; readonly reason: string }
  | { readonly type: 'store_lost'; readonly problem: string }
  | { readonly type: 'store_back' };

export type StoreHealth = ReturnType<typeof createStoreHealth>;

export interface Prober {
  /** Runs the script. Refusals are reported to `refused` too. */
  readonly probe: () => Promise<unknown>;
  /** Connects once more, as the address may belong to another server. */
  readonly reconnect: () => void;
}

export interface HealthOptions {
  readonly target: RedisTarget;
  readonly clock: Clock;
  readonly onEvent: (event: HealthEvent) => void;
}

/** The pause between two probes. */
export const STORE_PROBE_MS = 1_000;

/** How long a refusal must not have occurred before it counts as over: a server may be at the limit of its memory for a while. */
export const STORE_REFUSAL_QUIET_MS = 5_000;

/** The name or address that the relay connected to may belong to another server by now. */
const DEMOTED: ReadonlySet<string> = new Set(['READONLY', 'MASTERDOWN']);

interface Refusal {
  readonly remedy: string;
  readonly lastMs: number;
}

export function createStoreHealth({ target, clock, onEvent }: HealthOptions) {
  /** Keyed by reason. */
  const refusals = new Map<string, Refusal>();
  let prober: Prober | undefined;
  let isProbing = false;
  let isClosed = false;
  /** All commands have been accepted since the start. */
  let wasAccepted = false;
  /** What the last probe that was answered said. */
  let isStopped = false;
  let isLost = false;
  let failure: ConnectFailure | undefined;

  function refused(reply: ErrorReply, script?: Script): void {
    const reason = reasonOf(reply);
    if (PASSING.has(reason)) return;
    const remedy = refusals.get(reason)?.remedy ?? remedyFor(reply, script);
    if (!refusals.has(reason)) onEvent({ type: 'store_refuses', reason, remedy });
    refusals.set(reason, { remedy, lastMs: clock.now() });
    void keepProbing();
  }

  async function keepProbing(): Promise<void> {
    if (isProbing || prober === undefined) return;
    isProbing = true;
    while (!isClosed && (refusals.size > 0 || !wasAccepted)) {
      await probe(prober);
      await pause(clock, STORE_PROBE_MS);
    }
    isProbing = false;
  }

  /** Returns the error, if there is one. */
  async function probe({ probe, reconnect }: Prober): Promise<unknown> {
    try {
      await probe();
    } catch (error) {
      const reply = replyIn(error);
      // Without a reply it is unknown.
      if (reply !== undefined) isStopped = stopsEverything(reply);
      if (reply !== undefined && DEMOTED.has(reasonOf(reply))) reconnect();
      return error;
    }
    accepted();
    isStopped = false;
    return undefined;
  }

  function accepted(): void {
    wasAccepted = true;
    for (const [reason, { lastMs }] of refusals) {
      if (clock.now() - lastMs < STORE_REFUSAL_QUIET_MS) continue;
      refusals.delete(reason);
      onEvent({ type: 'store_accepts', reason });
    }
  }

  function findText(): string | undefined {
    const reasons = [...refusals.keys()];
    // If it cannot be reached, refusals from before are not the cause.
    const reason = isLost ? failure?.reason : reasons.at(-1);
    const remedy = reason && refusals.get(reason)?.remedy;
    if (remedy) return `store: Redis refuses commands (${reason}): ${remedy}`;
    if (!isLost) return undefined;
    return `store: Redis is unreachable: ${(failure ?? noAnswer(target)).problem}`;
  }

  return {
    refused,
    /** A connection or a heartbeat failed. Without an error: there was no reply. */
    failed(error: unknown): void {
      failure = describeConnectFailure(error, target) ?? failure;
      const reply = replyIn(error);
      if (reply !== undefined && prober !== undefined) refused(reply);
    },
    /** Several heartbeats in a row were not received. */
    lost(): void {
      isLost = true;
      onEvent({ type: 'store_lost', problem: (failure ?? noAnswer(target)).problem });
    },
    /** A heartbeat was received. */
    received(): void {
      failure = undefined;
      if (!isLost) return;
      isLost = false;
      onEvent({ type: 'store_back' });
    },
    /** Resolves after the first probe. Rejects if there was no reply to it. */
    async start(first: Prober): Promise<void> {
      const error = await probe(first);
      if (error !== undefined && replyIn(error) === undefined) throw error;
      prober = first;
      void keepProbing();
    },
    /** What the operator should know. Undefined: everything works. */
    findProblem(): StoreProblem | undefined {
      const text = findText();
      if (text === undefined) return undefined;
      return { text, stopsEverything: isLost || isStopped || !wasAccepted };
    },
    close(): void {
      isClosed = true;
    },
  };
}
