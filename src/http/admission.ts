/** Applies rate limits to client addresses. */
import { warnOnce } from '../log.ts';
import type { Monitor, RateLimitKind } from '../monitor.ts';
import { intervalMsOf, type RateLimiter, type RateLimitPair } from '../relay/rate-limit.ts';
import type { Awaitable } from '../relay/store.ts';
import type { Clock } from '../relay/time.ts';
import { createFindClientAddress } from './client-address.ts';
import type { RelayRequest } from './request.ts';

export type Refused =
  | { readonly refusal: 'invalid_client_address' }
  | { readonly refusal: 'rate_limited'; readonly retryAfterMs: number };

export interface Admission {
  /**
   * The address that starts a sign-in. Its token is taken when the sign-in is registered,
   * so it is refused here only if it was refused before and has no token yet.
   */
  admitStart(request: RelayRequest): string | Refused;
  /** Takes the token of a start that is refused for another reason. Undefined: there was one. */
  takeStart(address: string): Promise<Refused | undefined>;
  /** Once the limit on starts has refused an address. */
  refuseStart(address: string, retryAfterMs: number): Refused;
  /** Takes a token of the client address's bucket. Undefined: admitted. */
  admit(
    request: RelayRequest,
    limiter: RateLimiter,
    kind: RateLimitKind,
  ): Awaitable<Refused | undefined>;
  /** Takes a token of the address's bucket and one of the overall bucket, or none. */
  admitToPair(
    request: RelayRequest,
    pair: RateLimitPair,
    kind: RateLimitKind,
  ): Promise<Refused | { readonly refusal?: undefined; refund(): Promise<void> }>;
}

const INVALID_ADDRESS: Refused = { refusal: 'invalid_client_address' };

/** The key of the bucket that all addresses share. */
const OVERALL = 'everybody';

const IGNORED_FORWARDED_HINT =
  'X-Forwarded-For came from a peer outside TRUSTED_PROXY_CIDRS: all clients behind that proxy share one rate limit';

/** Forgotten together when there are more: the store then refuses them again. */
const MAX_REFUSED_ADDRESSES = 10_000;

export function createAdmission(
  trustedProxyCidrs: readonly string[],
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

  function refuse(retryAfterMs: number, kind: RateLimitKind): Refused {
    monitor.rateLimited(kind);
    return { refusal: 'rate_limited', retryAfterMs };
  }

  function refusalFor(retryAfterMs: number, kind: RateLimitKind): Refused | undefined {
    return retryAfterMs === 0 ? undefined : refuse(retryAfterMs, kind);
  }

  function refuseStart(address: string, retryAfterMs: number): Refused {
    if (refusedStarts.size >= MAX_REFUSED_ADDRESSES) refusedStarts.clear();
    // A bucket has a token after one interval at the latest. Who refuses for longer has other reasons.
    const waitMs = Math.min(retryAfterMs, intervalMsOf(startLimiter.policy));
    refusedStarts.set(address, clock.now() + waitMs);
    return refuse(retryAfterMs, 'start');
  }

  return {
    admitStart(request) {
      const address = addressOf(request);
      if (address === undefined) return INVALID_ADDRESS;
      const untilMs = refusedStarts.get(address);
      if (untilMs === undefined) return address;
      const retryAfterMs = untilMs - clock.now();
      if (retryAfterMs > 0) return refuse(retryAfterMs, 'start');
      refusedStarts.delete(address);
      return address;
    },

    async takeStart(address) {
      const retryAfterMs = await startLimiter.take(address);
      return retryAfterMs > 0 ? refuseStart(address, retryAfterMs) : undefined;
    },

    refuseStart,

    admit(request, limiter, kind) {
      const bucket = addressOf(request);
      if (bucket === undefined) return INVALID_ADDRESS;
      const retryAfterMs = limiter.take(bucket);
      return retryAfterMs instanceof Promise
        ? retryAfterMs.then((laterMs) => refusalFor(laterMs, kind))
        : refusalFor(retryAfterMs, kind);
    },

    async admitToPair(request, { perAddress, overall }, kind) {
      const bucket = addressOf(request);
      if (bucket === undefined) return INVALID_ADDRESS;
      const ownMs = await perAddress.take(bucket);
      if (ownMs > 0) return refuse(ownMs, kind);
      const overallMs = await overall.take(OVERALL);
      if (overallMs > 0) {
        await perAddress.refund(bucket);
        return refuse(overallMs, kind);
      }
      return {
        async refund() {
          // A failed refund only makes the limit stricter by one try.
          await Promise.allSettled([perAddress.refund(bucket), overall.refund(OVERALL)]);
        },
      };
    },
  };
}
