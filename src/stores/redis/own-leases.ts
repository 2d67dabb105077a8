/**
 * The leases that this process took, and the results of its exchanges. A failover may
 * lose what the store has of them; a second exchange of the code would fail, and may
 * end the tokens of the first (RFC 6749 §4.1.2). Results are sealed as in the store.
 */
import type { SessionOutcome } from '../../relay/session.ts';
import type { Clock } from '../../relay/time.ts';

export interface SealedResult {
  readonly sealed: string;
  readonly outcome: SessionOutcome;
}

export interface OwnLease {
  /** Read with the lease. The completion needs it. */
  readonly sealedDeviceKey: string;
  readonly untilMs: number;
  /** Set once the code was exchanged. */
  result?: SealedResult;
}

/** Failovers take less time. */
export const OWN_LEASE_MS = 60_000;

/** Each takes about 3 KB with its result: 15 MB. With more sign-ins a minute the oldest are removed. */
export const MAX_OWN_LEASES = 5_000;

export type OwnLeases = ReturnType<typeof createOwnLeases>;

export function createOwnLeases(clock: Clock) {
  // In the order of their time.
  const leases = new Map<string, OwnLease>();
  const nameOf = (service: string, sessionId: string) => `${service} ${sessionId}`;
  return {
    get: (service: string, sessionId: string) => leases.get(nameOf(service, sessionId)),
    add(service: string, sessionId: string, sealedDeviceKey: string): void {
      const [oldest] = leases.keys();
      if (oldest !== undefined && leases.size >= MAX_OWN_LEASES) leases.delete(oldest);
      const name = nameOf(service, sessionId);
      leases.set(name, { sealedDeviceKey, untilMs: clock.now() + OWN_LEASE_MS });
    },
    /** Removes old ones. */
    sweep(): void {
      for (const [name, { untilMs }] of leases) {
        if (untilMs >= clock.now()) break;
        leases.delete(name);
      }
    },
  };
}
