/**
 * Single-flight refresh over all instances: a refresh token may be valid for one use (RFC 6749
 * §6), and a device whose response was lost repeats its request. A refresh is identified by
 * the token that was sent, which also opens the result that a store keeps.
 */
import { Buffer } from 'node:buffer';
import { EXCHANGE_LEASE_MS, REFRESH_RESULT_MS } from '../limits.ts';
import type { RefreshState, RefreshStore } from '../sign-ins/store.ts';
import { type Clock, pause } from '../sign-ins/time.ts';
import type { RefreshKey, Vault } from '../sign-ins/vault.ts';
import type { Provider } from './provider.ts';
import type { TokenOutcome } from './token-response.ts';

/**
 * Results that one relay keeps at a time, by number and by size: 330 refreshes a
 * second with tokens of 3 KB. Further results are not kept, so a repeated refresh is sent to
 * the provider again.
 */
export const MAX_REFRESH_RESULTS = 10_000;
export const MAX_REFRESH_RESULT_BYTES = 32 * 1_048_576;

/** How often an instance checks whether another one has finished the refresh. */
export const REFRESH_CHECK_MS = 100;

/** The part of a provider that a refresh uses. */
type Refresher = Pick<Provider, 'name' | 'refresh'>;

export type Refreshes = ReturnType<typeof createRefreshes>;

export function createRefreshes(store: RefreshStore, vault: Pick<Vault, 'refresh'>, clock: Clock) {
  const inProgress = new Map<string, Promise<TokenOutcome | undefined>>();
  const budget = createBudget(clock);
  /** Refreshes and revocations, for which a drain waits. */
  const tracked = new Set<Promise<unknown>>();
  let draining = false;

  /** Sends nothing, and returns undefined, while the relay drains. */
  async function track<Outcome>(send: () => Promise<Outcome>): Promise<Outcome | undefined> {
    if (draining) return undefined;
    const sent = send().finally(() => tracked.delete(sent));
    tracked.add(sent);
    return sent;
  }

  /** Waits for the lease of this token, or for its result. Undefined if another instance has the lease and has not finished. */
  async function acquireLease(
    id: string,
  ): Promise<(RefreshState & { readonly leaseEndsAtMs: number }) | undefined> {
    // By then the lease of any other instance has expired.
    const untilMs = clock.now() + EXCHANGE_LEASE_MS + REFRESH_CHECK_MS;
    for (;;) {
      const leaseEndsAtMs = clock.now() + EXCHANGE_LEASE_MS;
      const begun = await store.begin(id);
      // Never send without a lease: a provider may treat a token that is used twice as stolen. RFC 9700 §4.14.2.
      const isLeased = begun.state === 'acquired' && clock.now() <= leaseEndsAtMs;
      if (begun.state === 'finished' || isLeased) return { ...begun, leaseEndsAtMs };
      await pause(clock, REFRESH_CHECK_MS);
      if (draining || clock.now() > untilMs) return undefined;
    }
  }

  async function refreshOnce(
    key: RefreshKey,
    provider: Refresher,
    refreshToken: string,
    scope: string | undefined,
  ): Promise<TokenOutcome | undefined> {
    const begun = await acquireLease(key.id);
    if (begun === undefined) return undefined;
    if (begun.state === 'finished') return JSON.parse(key.open(begun.result)) as TokenOutcome;
    let kept: string | undefined;
    try {
      const outcome = await provider.refresh(refreshToken, scope);
      // Any other outcome may differ next time, so it is not kept.
      const isFinal = outcome?.ok || outcome?.failure.refusal !== undefined;
      if (isFinal) kept = budget(JSON.stringify(outcome));
      return outcome;
    } finally {
      // After a pause of the process another instance may have the lease: don't release that.
      const isLeased = clock.now() <= begun.leaseEndsAtMs;
      // The caller gets the provider's tokens even if the store cannot keep them.
      if (kept !== undefined || isLeased) {
        const finish = async () => store.finish(key.id, kept && key.protect(kept));
        await finish().catch(() => {});
      }
    }
  }

  return {
    /**
     * Sends one request to the provider for all callers with the same token, and returns the
     * result to each of them, and to later ones for REFRESH_RESULT_MS. Undefined if nothing was
     * sent: the token is not spent.
     */
    async refresh(provider: Refresher, refreshToken: string, scope: string | undefined) {
      const key = vault.refresh(JSON.stringify([provider.name, scope ?? '', refreshToken]));
      const shared = inProgress.get(key.id);
      if (shared !== undefined) return shared;
      const own = track(() => refreshOnce(key, provider, refreshToken, scope)).finally(() => {
        inProgress.delete(key.id);
      });
      inProgress.set(key.id, own);
      return own;
    },
    track,
    /** From now on nothing is sent, and no refresh waits for another instance. */
    drain(): void {
      draining = true;
    },
    /** Resolves when what is in progress has ended. */
    async settled(): Promise<void> {
      await Promise.allSettled(tracked);
    },
  };
}

/** Returns the result, or undefined when keeping it would exceed the limits. */
function createBudget(clock: Clock): (result: string) => string | undefined {
  /** Results in the order of expiry. Expired ones are removed when the next result comes, so that no timer is pending. */
  const kept: { readonly untilMs: number; readonly sizeBytes: number }[] = [];
  let totalBytes = 0;
  return (result) => {
    const nowMs = clock.now();
    const expired = kept.findIndex(({ untilMs }) => untilMs > nowMs);
    for (const { sizeBytes } of kept.splice(0, expired === -1 ? kept.length : expired)) {
      totalBytes -= sizeBytes;
    }
    const sizeBytes = Buffer.byteLength(result);
    const isFull = kept.length >= MAX_REFRESH_RESULTS;
    if (isFull || totalBytes + sizeBytes > MAX_REFRESH_RESULT_BYTES) return undefined;
    kept.push({ untilMs: nowMs + REFRESH_RESULT_MS, sizeBytes });
    totalBytes += sizeBytes;
    return result;
  };
}
