/** Finds the client's address, for the rate limits. RFC 9700 §4.13. */
import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** No proxy writes a longer `X-Forwarded-For`. */
const MAX_FORWARDED_FOR_CHARACTERS = 4_096;
const MAX_FORWARDED_FOR_HOPS = 32;

/** An IPv6 client has a /64, so one rate-limit bucket covers that. */
const IPV6_BUCKET_GROUPS = 64 / 16;

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * Finds the client's address: the socket's peer, or, when the peer is a trusted
 * proxy, the rightmost forwarded hop that is not a trusted proxy. Hops further left
 * may be forged, but must be well-formed too. Undefined if there is none. `bucket`: one rate-limit
 * bucket, an IPv4 address or an IPv6 /64. `ignoredForwarded`: a forwarded header came from a peer
 * that is not trusted.
 */
export type FindClientAddress = ReturnType<typeof createFindClientAddress>;

export function createFindClientAddress(trustedProxyCidrs: readonly string[]) {
  const trusted = trustedProxyCidrs.map(parseCidr);
  // Caches the last peer: behind a proxy it is always the same.
  let peerText = '';
  let peerBucket: string | undefined;
  let peerIsProxy = false;

  return (peerAddress = '', forwardedFor?: string) => {
    if (peerAddress !== peerText) {
      peerText = peerAddress;
      // Node adds the zone to a link-local address, Bun does not (RFC 4007 §11).
      const [address = ''] = peerAddress.split('%', 1);
      const peer = parseAddress(address);
      peerBucket = peer && bucketOf(peer);
      peerIsProxy = peer !== undefined && isTrusted(peer, trusted);
    }
    if (peerBucket === undefined) return undefined;
    if (forwardedFor === undefined || !peerIsProxy) {
      return { bucket: peerBucket, ignoredForwarded: forwardedFor !== undefined };
    }
    const client = findClient(forwardedFor, trusted);
    return client === undefined ? undefined : { bucket: bucketOf(client), ignoredForwarded: false };
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
  if (!text.includes(':') || text.includes('%') || !ipaddr.IPv6.isValid(text)) return undefined;
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
