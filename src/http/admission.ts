/** Applies rate limits to client addresses. */
import { warnOnce } from '../log.ts';
import type { Monitor, RateLimitKind } from '../monitor.ts';
import type { RateLimiter, RateLimitPair } from '../relay/rate-limit.ts';
import type { Awaitable } from '../relay/store.ts';
import { createFindClientAddress } from './client-address.ts';
import type { RelayRequest } from './request.ts';

export type Refused =
  | { readonly refusal: 'invalid_client_address' }
  | { readonly refusal: 'rate_limited'; readonly retryAfterMs: number };

export interface Admission {
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

/** The key of the bucket that all addresses share. */
const OVERALL = 'everybody';

const IGNORED_FORWARDED_HINT =
  'X-Forwarded-For came from a peer outside TRUSTED_PROXY_CIDRS: all clients behind that proxy share one rate limit';

export function createAdmission(trustedProxyCidrs: readonly string[], monitor: Monitor): Admission {
  const findClientAddress = createFindClientAddress(trustedProxyCidrs);
  const warnOfIgnoredForwarded = warnOnce('forwarded_header_ignored', IGNORED_FORWARDED_HINT);

  function findBucket(request: RelayRequest): string | undefined {
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

  return {
    admit(request, limiter, kind) {
      const bucket = findBucket(request);
      if (bucket === undefined) return { refusal: 'invalid_client_address' };
      const retryAfterMs = limiter.take(bucket);
      return retryAfterMs instanceof Promise
        ? retryAfterMs.then((laterMs) => refusalFor(laterMs, kind))
        : refusalFor(retryAfterMs, kind);
    },

    async admitToPair(request, { perAddress, overall }, kind) {
      const bucket = findBucket(request);
      if (bucket === undefined) return { refusal: 'invalid_client_address' };
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
