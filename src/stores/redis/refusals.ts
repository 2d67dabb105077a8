/**
 * Why a server refuses commands, told to the operator once, and once more when it
 * takes them again. Heartbeats go on working on a full server, a replica or one
 * with too few rights, so nobody would learn of it otherwise.
 */
import { STORE_REFUSAL_QUIET_MS } from '../../limits.ts';
import type { Clock } from '../../relay/time.ts';
import type { Script } from './script.ts';

export type RefusalEvent =
  /** `reason` is the first word of the server's error. */
  | { readonly type: 'store_refuses'; readonly reason: string; readonly remedy: string }
  | { readonly type: 'store_accepts'; readonly reason: string };

export interface Refusals {
  refused(script: Script, reason: string): void;
  accepted(script: Script): void;
}

/** What is going on, and for how long: each reason has its own. */
interface Refusing {
  /** What was refused: that something else works says nothing. */
  readonly scripts: Set<Script>;
  lastMs: number;
}

export function createRefusals(clock: Clock, onEvent: (event: RefusalEvent) => void): Refusals {
  const byReason = new Map<string, Refusing>();
  return {
    refused(script, reason) {
      if (PASSING.has(reason)) return;
      const known = byReason.get(reason);
      if (known === undefined) {
        const remedy = REMEDIES[reason] ?? 'the log of Redis may say more';
        onEvent({ type: 'store_refuses', reason, remedy });
      }
      const scripts = known?.scripts ?? new Set();
      byReason.set(reason, { scripts: scripts.add(script), lastMs: clock.now() });
    },
    accepted(script) {
      for (const [reason, { scripts, lastMs }] of byReason) {
        // In a Cluster one node may refuse what the others take.
        if (!scripts.has(script) || clock.now() - lastMs < STORE_REFUSAL_QUIET_MS) continue;
        byReason.delete(reason);
        onEvent({ type: 'store_accepts', reason });
      }
    },
  };
}

/** Part of the way things work: `LATE` is ours (clock.ts), the others are those of a Cluster that moves slots. */
const PASSING: ReadonlySet<string> = new Set(['LATE', 'TRYAGAIN', 'MOVED', 'ASK']);

const REMEDIES: Readonly<Record<string, string>> = {
  OOM: 'Redis is full, so starts are answered 503: raise its maxmemory, or lower MAX_SESSIONS',
  READONLY: 'this is a replica: REDIS_URL must lead to the primary, or to its Sentinels',
  NOREPLICAS: 'fewer replicas keep up than min-replicas-to-write asks for: bring them back',
  NOPERM: 'the user of REDIS_URL lacks a right: docs/scaling.md lists those that suffice',
  NOAUTH: 'Redis asks for a password: put it into REDIS_URL',
  MASTERDOWN: 'this is a replica that has lost its primary: REDIS_URL must lead to a primary',
  LOADING: 'Redis is reading its data from disk, and will answer when it has',
  CLUSTERDOWN: 'slots of the Cluster have no node: bring the missing one back',
  MISCONF: 'Redis cannot write its snapshot to disk: set save "", since nothing has to be written',
  BUSY: 'a script of somebody else keeps Redis busy',
};
