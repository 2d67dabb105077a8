/** Who asks, and whether that address may ask once more. */
import { log } from '../operate/log.ts';
import type { Clock } from '../relay/clock.ts';
import type { RateLimiter } from '../relay/rate-limit.ts';
import type { FindClientAddress } from './client-address.ts';
import type { RequestContext } from './request-context.ts';

export type Admission =
  | { readonly ok: true; readonly bucket: string }
  | { readonly ok: false; readonly refusal: 'invalid_client_address' }
  | { readonly ok: false; readonly refusal: 'rate_limited'; readonly retryAfterMs: number };

/** Takes a token of the client address's bucket. */
export type Admit = (c: RequestContext, limiter: RateLimiter) => Promise<Admission>;

export function createAdmit(findClientAddress: FindClientAddress, clock: Clock): Admit {
  const warnOfIgnoredForwarded = createWarnOnce('forwarded_header_ignored', IGNORED_FORWARDED_HINT);
  return async ({ req, env }, limiter) => {
    const client = findClientAddress(env.findPeerAddress(), req.header('x-forwarded-for'));
    if (!client.ok) return { ok: false, refusal: 'invalid_client_address' };
    if (client.ignoredForwarded) warnOfIgnoredForwarded();
    const { bucket } = client;
    const limit = await limiter.take(bucket, clock.now());
    if (limit.ok) return { ok: true, bucket };
    return { ok: false, refusal: 'rate_limited', retryAfterMs: limit.retryAfterMs };
  };
}

/** One limit on each address, and one on all together, since an attacker may have many addresses. */
export interface LimitPair {
  readonly perAddress: RateLimiter;
  readonly overall: RateLimiter;
}

export type PairAdmission =
  | Exclude<Admission, { ok: true }>
  /** `refund`: what was asked for does not count after all. */
  | { readonly ok: true; readonly refund: () => Promise<void> };

const EVERYBODY = 'everybody';

/** Takes a token of the address's bucket and one of all, or none. */
export function createAdmitByBoth(admit: Admit, limits: LimitPair, clock: Clock) {
  const { perAddress, overall } = limits;
  return async (c: RequestContext): Promise<PairAdmission> => {
    const own = await admit(c, perAddress);
    if (!own.ok) return own;
    const refundOwn = () => perAddress.giveBack(own.bucket, clock.now());
    const all = await overall.take(EVERYBODY, clock.now());
    if (!all.ok) {
      await refundOwn();
      return { ...all, refusal: 'rate_limited' };
    }
    return {
      ok: true,
      async refund() {
        // A limit that cannot take a token back keeps nobody.
        await Promise.allSettled([refundOwn(), overall.giveBack(EVERYBODY, clock.now())]);
      },
    };
  };
}

/** RFC 9110 §10.2.3, in whole seconds. */
export function retryAfter(admission: Admission | PairAdmission): Record<string, string> {
  if (!('retryAfterMs' in admission)) return {};
  return { 'Retry-After': String(Math.max(1, Math.ceil(admission.retryAfterMs / 1_000))) };
}

/** Once in the life of a process: it would come with every request. */
export function createWarnOnce(event: string, hint: string): () => void {
  let warned = false;
  return () => {
    if (!warned) log.warning(event, { hint });
    warned = true;
  };
}

const IGNORED_FORWARDED_HINT =
  'X-Forwarded-For came from a peer outside TRUSTED_PROXY_CIDRS: all clients behind that proxy share one rate limit';
