/** Applies rate limits to client addresses. */
import { warnOnce } from '../log.ts';
import type { Monitor, RateLimitKind } from '../monitor.ts';
import type { RateLimiter, RateLimitPair } from '../sign-ins/rate-limits.ts';
import type { FindClientAddress } from './client-address.ts';
import type { RelayRequest } from './request.ts';
import { type Refusal, refuse } from './responses.ts';

const ADMITTED = { ok: true } as const;
const INVALID_ADDRESS = refuse('invalid_client_address');
const FOREIGN_PAGE = refuse('origin_not_allowed');

/** The key of the bucket that all addresses share. */
const OVERALL = 'global';

const IGNORED_FORWARDED_HINT =
  'a peer outside TRUSTED_PROXY_CIDRS sent X-Forwarded-For, which is ignored: if it is your proxy, add its address, because all clients behind it share one rate limit';

export type Admission = ReturnType<typeof createAdmission>;

export function createAdmission(
  findClientAddress: FindClientAddress,
  /** The origins whose pages may start sign-ins. */
  origins: readonly string[],
  startLimiter: RateLimiter,
  monitor: Monitor,
) {
  const warnOfIgnoredForwarded = warnOnce('forwarded_header_ignored', IGNORED_FORWARDED_HINT);

  function findAddress(request: RelayRequest): string | undefined {
    const peer = request.peers.requestIP(request.raw)?.address;
    const client = findClientAddress(peer, request.header('x-forwarded-for'));
    if (client?.ignoredForwarded) warnOfIgnoredForwarded();
    return client?.bucket;
  }

  function limited(retryAfterMs: number, kind: RateLimitKind): Refusal {
    monitor.rateLimited(kind);
    return refuse('rate_limited', retryAfterMs);
  }

  /** Takes a token of the client address's bucket. */
  async function admit(request: RelayRequest, limiter: RateLimiter, kind: RateLimitKind) {
    const bucket = findAddress(request);
    if (bucket === undefined) return INVALID_ADDRESS;
    const retryAfterMs = await limiter.take(bucket);
    return retryAfterMs === 0 ? ADMITTED : limited(retryAfterMs, kind);
  }

  return {
    /** Takes a token for a start, unless a page of another site sends it. Open sign-ins have a separate limit. */
    async admitStart(request: RelayRequest, limiter = startLimiter, kind: RateLimitKind = 'start') {
      if (isFromForeignPage(request, origins)) return FOREIGN_PAGE;
      return admit(request, limiter, kind);
    },

    admit,

    /** Takes a token of the address's bucket and one of the overall bucket, or none. */
    async admitToPair(
      request: RelayRequest,
      { perAddress, overall }: RateLimitPair,
      kind: RateLimitKind,
    ) {
      const bucket = findAddress(request);
      if (bucket === undefined) return INVALID_ADDRESS;
      const ownMs = await perAddress.take(bucket);
      if (ownMs > 0) return limited(ownMs, kind);
      const overallMs = await overall.take(OVERALL);
      if (overallMs > 0) {
        await perAddress.refund(bucket);
        return limited(overallMs, kind);
      }
      return {
        ok: true as const,
        async refund() {
          // A failed refund only makes the limit stricter by one try.
          await Promise.allSettled([perAddress.refund(bucket), overall.refund(OVERALL)]);
        },
      };
    },
  };
}

/**
 * True if a page of a site that the operator does not know sends this. Without CORS it reads no
 * response, but its requests would count towards the limits of its visitors. `known`: the relay's
 * own origin and CORS_ORIGINS. Apps in a webview, of a package or of a file have an origin without
 * http (`null`, `file://`, `app://…`), or their requests have no such header.
 * @see https://www.w3.org/TR/fetch-metadata/#sec-fetch-site-header
 */
function isFromForeignPage(request: RelayRequest, known: readonly string[]): boolean {
  const site = request.header('sec-fetch-site');
  if (site !== 'cross-site' && site !== 'same-site') return false;
  const origin = request.header('origin') ?? '';
  return /^https?:/.test(origin) && !known.includes(origin) && !known.includes('*');
}
