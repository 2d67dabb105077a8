/** Applies rate limits to client addresses. */
import { warnOnce } from '../log.ts';
import type { Monitor, RateLimitKind } from '../monitor.ts';
import { intervalMsOf, type RateLimiter, type RateLimitPair } from '../relay/rate-limit.ts';
import type { StartRefused } from '../relay/relay.ts';
import type { Awaitable } from '../relay/store.ts';
import type { Clock } from '../relay/time.ts';
import { createFindClientAddress } from './client-address.ts';
import { isFromForeignPage } from './cors.ts';
import type { RelayRequest } from './request.ts';
import { type Refused, refused } from './responses.ts';

export interface Admission {
  /**
   * The address of a start. Its token is taken when the session is registered, so it is
   * refused here only if it was refused before and has no token yet, or if a page of another
   * site sends it, which takes no token.
   */
  admitStart(request: RelayRequest): { readonly ok: true; readonly address: string } | Refused;
  /** Takes a token for a start that is refused for `reason`. Without a token it is refused as rate-limited. */
  chargeStart(address: string, reason: Refused): Promise<Refused>;
  /** Remembers an address that the limit on starts has refused. Returns the refusal. */
  noteStart(address: string, reason: StartRefused): Refused;
  /** Takes a token of the client address's bucket. */
  admit(
    request: RelayRequest,
    limiter: RateLimiter,
    kind: RateLimitKind,
  ): Awaitable<{ readonly ok: true } | Refused>;
  /** Takes a token of the address's bucket and one of the overall bucket, or none. */
  admitToPair(
    request: RelayRequest,
    pair: RateLimitPair,
    kind: RateLimitKind,
  ): Promise<{ readonly ok: true; refund(): Promise<void> } | Refused>;
}

const ADMITTED = { ok: true } as const;
const INVALID_ADDRESS = refused('invalid_client_address');
const FOREIGN_PAGE = refused('origin_not_allowed');

/** The key of the bucket that all addresses share. */
const OVERALL = 'everybody';

const IGNORED_FORWARDED_HINT =
  'X-Forwarded-For came from a peer outside TRUSTED_PROXY_CIDRS: all clients behind that proxy share one rate limit';

/** At this number all are removed: the store then refuses them again. */
export const MAX_REFUSED_ADDRESSES = 10_000;

export function createAdmission(
  trustedProxyCidrs: readonly string[],
  /** Whose pages may start sign-ins. */
  origins: readonly string[],
  startLimiter: RateLimiter,
  monitor: Monitor,
  clock: Clock,
): Admission {
  /** Until when, so that a flood of starts does not reach the store. */
  const refusedStarts = new Map<string, number>();
  const findClientAddress = createFindClientAddress(trustedProxyCidrs);
  const warnOfIgnoredForwarded = warnOnce('forwarded_header_ignored', IGNORED_FORWARDED_HINT);

  function addressOf(request: RelayRequest): string | undefined {
    const client = findClientAddress(request.peerAddress(), request.header('x-forwarded-for'));
    if (client?.ignoredForwarded) warnOfIgnoredForwarded();
    return client?.bucket;
  }

  function limited(retryAfterMs: number, kind: RateLimitKind): Refused {
    monitor.rateLimited(kind);
    return refused('rate_limited', retryAfterMs);
  }

  function limitStart(address: string, retryAfterMs: number): Refused {
    if (refusedStarts.size >= MAX_REFUSED_ADDRESSES) refusedStarts.clear();
    // A bucket has a token after one interval at the latest. A longer refusal has another cause.
    const waitMs = Math.min(retryAfterMs, intervalMsOf(startLimiter.policy));
    refusedStarts.set(address, clock.now() + waitMs);
    return limited(retryAfterMs, 'start');
  }

  return {
    admitStart(request) {
      if (isFromForeignPage(request, origins)) return FOREIGN_PAGE;
      const address = addressOf(request);
      if (address === undefined) return INVALID_ADDRESS;
      const untilMs = refusedStarts.get(address);
      if (untilMs === undefined) return { ok: true, address };
      const retryAfterMs = untilMs - clock.now();
      if (retryAfterMs > 0) return limited(retryAfterMs, 'start');
      refusedStarts.delete(address);
      return { ok: true, address };
    },

    async chargeStart(address, reason) {
      const retryAfterMs = await startLimiter.take(address);
      return retryAfterMs > 0 ? limitStart(address, retryAfterMs) : reason;
    },

    noteStart: (address, reason) =>
      reason.refusal === 'rate_limited' ? limitStart(address, reason.retryAfterMs) : reason,

    admit(request, limiter, kind) {
      const bucket = addressOf(request);
      if (bucket === undefined) return INVALID_ADDRESS;
      const answer = (retryAfterMs: number) =>
        retryAfterMs === 0 ? ADMITTED : limited(retryAfterMs, kind);
      const taken = limiter.take(bucket);
      return taken instanceof Promise ? taken.then(answer) : answer(taken);
    },

    async admitToPair(request, { perAddress, overall }, kind) {
      const bucket = addressOf(request);
      if (bucket === undefined) return INVALID_ADDRESS;
      const ownMs = await perAddress.take(bucket);
      if (ownMs > 0) return limited(ownMs, kind);
      const overallMs = await overall.take(OVERALL);
      if (overallMs > 0) {
        await perAddress.refund(bucket);
        return limited(overallMs, kind);
      }
      return {
        ok: true,
        async refund() {
          // A failed refund only makes the limit stricter by one try.
          await Promise.allSettled([perAddress.refund(bucket), overall.refund(OVERALL)]);
        },
      };
    },
  };
}
