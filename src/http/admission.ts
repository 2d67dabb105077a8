/** Finds a client's address, and applies the rate limits to it. RFC 9700 §4.13. */
import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { warnOnce } from '../log.ts';
import type { Monitor, RateLimitKind } from '../monitor.ts';
import type { RateLimiter } from '../sign-ins/rate-limits.ts';
import { digestOf } from '../sign-ins/secrets.ts';
import type { RelayRequest } from './request.ts';
import { type Refusal, refuse } from './responses.ts';

const ADMITTED = { ok: true } as const;
const INVALID_ADDRESS = refuse('invalid_client_address');
const FOREIGN_PAGE = refuse('origin_not_allowed');

/** The key of the bucket that all addresses share. */
const OVERALL = 'global';

const IGNORED_FORWARDED_HINT =
  'a peer outside TRUSTED_PROXY_CIDRS sent X-Forwarded-For, which is ignored: if it is your proxy, add its address, because all clients behind it share one rate limit';

const MALFORMED_FORWARDED_HINT =
  'a trusted proxy sent an X-Forwarded-For with something that is no address: starts get a 400; let it replace what clients send, and write only addresses';

/** `codes` and `qrs` are for all addresses together, because an attacker may have many. */
export type RateLimits = Readonly<Record<RateLimitKind | 'codes' | 'qrs', RateLimiter>>;

export type Admission = ReturnType<typeof createAdmission>;

export function createAdmission(
  trustedProxyCidrs: readonly string[],
  /** The origins whose pages may send what devices send. */
  origins: readonly string[],
  limits: RateLimits,
  monitor: Monitor,
) {
  const warnings = {
    ignored: warnOnce('forwarded_header_ignored', IGNORED_FORWARDED_HINT),
    malformed: warnOnce('forwarded_header_malformed', MALFORMED_FORWARDED_HINT),
  };
  const findBucket = createFindBucket(trustedProxyCidrs, (problem) => warnings[problem]());

  function limited(retryAfterMs: number, kind: RateLimitKind): Refusal {
    monitor.rateLimited(kind);
    return refuse('rate_limited', retryAfterMs);
  }

  /** Takes a token of the client address's bucket, unless a page of another site sends the request. */
  async function admit(request: RelayRequest, kind: 'start' | 'open' | 'refresh' | 'revoke') {
    if (isFromForeignPage(request.raw, origins)) return FOREIGN_PAGE;
    const bucket = findBucket(request);
    if (bucket === undefined) return INVALID_ADDRESS;
    const retryAfterMs = await limits[kind].take(bucket);
    return retryAfterMs === 0 ? ADMITTED : limited(retryAfterMs, kind);
  }

  return {
    admit,

    /** True if a poll of the device grant comes too early after the last one with this code. */
    async isEarlyPoll(deviceCode: string): Promise<boolean> {
      const isEarly = (await limits.poll.take(digestOf(deviceCode))) > 0;
      if (isEarly) monitor.rateLimited('poll');
      return isEarly;
    },

    /** Takes a token of the address's bucket and one of the overall bucket, or none. */
    async admitToPair(request: RelayRequest, kind: 'code' | 'qr') {
      const [perAddress, overall] = [limits[kind], limits[`${kind}s`]];
      const bucket = findBucket(request);
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
 * True if a page of another site sends the request. CORS hides the response from the page, but the
 * request would count towards the limits of its visitor. `known`: the relay's own origin and
 * CORS_ORIGINS. Packaged apps and web views have an origin that is not http (`null`, `file://`,
 * `app://…`), or send no `Sec-Fetch-Site`.
 * @see https://www.w3.org/TR/fetch-metadata/#sec-fetch-site-header
 */
function isFromForeignPage({ headers }: Request, known: readonly string[]): boolean {
  const site = headers.get('sec-fetch-site');
  if (site !== 'cross-site' && site !== 'same-site') return false;
  const origin = headers.get('origin') ?? '';
  return /^https?:/.test(origin) && !known.includes(origin) && !known.includes('*');
}

/* The address of a client. */

/** No proxy writes a longer `X-Forwarded-For`. */
const MAX_FORWARDED_FOR_CHARACTERS = 4_096;
const MAX_FORWARDED_FOR_HOPS = 32;

/** An IPv6 client has a /64, so one rate-limit bucket covers that. */
const IPV6_BUCKET_GROUPS = 64 / 16;

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A peer that is not trusted sent X-Forwarded-For, or a trusted one sent something that is no address. */
export type ForwardedProblem = 'ignored' | 'malformed';

/**
 * Finds the key of the client's rate-limit bucket, its IPv4 address or its IPv6 /64. The client is
 * the socket's peer, or, when the peer is a trusted proxy, the rightmost forwarded hop that is not
 * a trusted proxy. Hops further left may be forged, but must be well-formed too. Undefined if there
 * is none.
 */
export function createFindBucket(
  trustedProxyCidrs: readonly string[],
  onProblem: (problem: ForwardedProblem) => void,
) {
  const trusted = trustedProxyCidrs.map(parseCidr);
  // Caches the last peer: behind a proxy it is always the same.
  let peerText = '';
  let peerBucket: string | undefined;
  let peerIsProxy = false;

  return ({ raw, addresses }: Pick<RelayRequest, 'raw' | 'addresses'>): string | undefined => {
    const peerAddress = addresses.requestIP(raw)?.address ?? '';
    if (peerAddress !== peerText) {
      peerText = peerAddress;
      // Node adds the zone to a link-local address, Bun does not (RFC 4007 §11).
      const [address = ''] = peerAddress.split('%', 1);
      const peer = parseAddress(address);
      peerBucket = peer && bucketOf(peer);
      peerIsProxy = peer !== undefined && isTrusted(peer, trusted);
    }
    const forwardedFor = raw.headers.get('x-forwarded-for');
    if (peerBucket === undefined || forwardedFor === null) return peerBucket;
    const client = peerIsProxy ? findClient(forwardedFor, trusted) : undefined;
    if (client !== undefined) return bucketOf(client);
    onProblem(peerIsProxy ? 'malformed' : 'ignored');
    return peerIsProxy ? undefined : peerBucket;
  };
}

/** The rightmost hop that is not trusted, or the leftmost of all. Undefined when any hop is malformed. */
function findClient(forwardedFor: string, trusted: readonly Cidr[]): Address | undefined {
  if (forwardedFor.length > MAX_FORWARDED_FOR_CHARACTERS) return undefined;
  const hops = forwardedFor.split(',', MAX_FORWARDED_FOR_HOPS + 1);
  if (hops.length > MAX_FORWARDED_FOR_HOPS) return undefined;
  let client: Address | undefined;
  let isFound = false;
  for (let at = hops.length - 1; at >= 0; at -= 1) {
    const address = parseAddress(withoutPort((hops[at] ?? '').trim()));
    if (address === undefined) return undefined;
    if (isFound) continue;
    client = address;
    isFound = !isTrusted(address, trusted);
  }
  return client;
}

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. RFC 7239 §6. */
function withoutPort(hop: string): string {
  if (!hop.includes(':')) return hop;
  return (
    /^(\d+\.\d+\.\d+\.\d+):\d{1,5}$/.exec(hop)?.[1] ??
    /^\[(.+)\](?::\d{1,5})?$/.exec(hop)?.[1] ??
    hop
  );
}

/** Strict: no `0x7f.1`, no `127.1`, no zone. An IPv4-mapped IPv6 address is the IPv4 address. */
function parseAddress(text: string): Address | undefined {
  if (isIPv4(text)) return ipaddr.IPv4.parse(text);
  if (!isIPv6(text) || text.includes('%')) return undefined;
  const address = ipaddr.IPv6.parse(text);
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

type Cidr = readonly [start: Address, bits: number];

/** The settings have been checked. A single address is a CIDR of its full length. */
function parseCidr(text: string): Cidr {
  const [start, bits] = ipaddr.parseCIDR(
    text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`,
  );
  const isMapped = start instanceof ipaddr.IPv6 && start.isIPv4MappedAddress() && bits >= 96;
  return isMapped ? [start.toIPv4Address(), bits - 96] : [start, bits];
}

function isTrusted(address: Address, trusted: readonly Cidr[]): boolean {
  return trusted.some(
    ([start, bits]) => start.kind() === address.kind() && address.match(start, bits),
  );
}

function bucketOf(address: Address): string {
  if (address instanceof ipaddr.IPv4) return address.toString();
  return address.parts
    .slice(0, IPV6_BUCKET_GROUPS)
    .map((part) => part.toString(16))
    .join(':');
}
