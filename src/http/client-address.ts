/** Whose request it is, for the rate limits. RFC 9700 §4.13. */
import ipaddr from 'ipaddr.js';

/** `X-Forwarded-For` beyond this is not written by proxies. */
const MAX_FORWARDED_FOR_CHARACTERS = 4_096;
const MAX_FORWARDED_FOR_HOPS = 32;

/** An IPv6 client owns a /64, so that is what one rate-limit bucket covers. */
const IPV6_BUCKET_BITS = 64;

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Cidr = readonly [Address, number];

export interface ClientAddress {
  /** One rate-limit bucket: an IPv4 address or an IPv6 /64. */
  readonly bucket: string;
  /** A forwarded header came from a peer that is not trusted, and was ignored. */
  readonly ignoredForwarded: boolean;
}

/** Undefined when the address cannot be determined. */
export type FindClientAddress = (
  peerAddress: string | undefined,
  forwardedFor: string | undefined,
) => ClientAddress | undefined;

/**
 * Finds the client's address: the socket's peer, or, when the peer is a trusted
 * proxy, the rightmost forwarded hop that is not one. What stands further left may
 * be forged, but must be well-formed too.
 */
export function createFindClientAddress(trustedProxyCidrs: readonly string[]): FindClientAddress {
  const trusted = trustedProxyCidrs.map(parseCidr);
  // Behind a proxy the peer is always the same.
  let peerText = '';
  let peer: Address | undefined;
  let peerIsProxy = false;

  return (peerAddress = '', forwardedFor) => {
    if (peerAddress !== peerText) {
      peerText = peerAddress;
      // Node names a link-local peer with its zone, Bun without (RFC 4007 §11).
      peer = parseAddress(peerAddress.replace(/%.*$/, ''));
      peerIsProxy = peer !== undefined && isTrusted(peer, trusted);
    }
    if (peer === undefined) return undefined;
    if (forwardedFor === undefined || !peerIsProxy) {
      return { bucket: bucketOf(peer), ignoredForwarded: forwardedFor !== undefined };
    }
    const client = findClient(forwardedFor, trusted);
    return client && { bucket: bucketOf(client), ignoredForwarded: false };
  };
}

/** The rightmost hop that is not trusted, or the leftmost of all. Undefined when any hop is malformed. */
function findClient(forwardedFor: string, trusted: readonly Cidr[]): Address | undefined {
  if (forwardedFor.length > MAX_FORWARDED_FOR_CHARACTERS) return undefined;
  const hops = forwardedFor.split(',');
  if (hops.length > MAX_FORWARDED_FOR_HOPS) return undefined;
  let client: Address | undefined;
  let isFound = false;
  for (const hop of hops.reverse()) {
    const address = parseAddress(withoutPort(hop.trim()));
    if (address === undefined) return undefined;
    if (isFound) continue;
    client = address;
    isFound = !isTrusted(address, trusted);
  }
  return client;
}

function isTrusted(address: Address, trusted: readonly Cidr[]): boolean {
  for (const [range, bits] of trusted) {
    if (address.kind() === range.kind() && address.match(range, bits)) return true;
  }
  return false;
}

/** Some proxies write the port too: `192.0.2.1:4711`, `[2001:db8::1]:4711`. RFC 7239 §6. */
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
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  if (!text.includes(':') || text.includes('%') || !ipaddr.IPv6.isValid(text)) return undefined;
  const address = ipaddr.IPv6.parse(text);
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/** The settings are checked before. A single address is a CIDR of its full length. */
function parseCidr(text: string): Cidr {
  const [address, bits] = ipaddr.parseCIDR(
    text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`,
  );
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96
    ? [address.toIPv4Address(), bits - 96]
    : [address, bits];
}

function bucketOf(address: Address): string {
  if (address instanceof ipaddr.IPv4) return address.toString();
  return address.parts
    .slice(0, IPV6_BUCKET_BITS / 16)
    .map((part) => part.toString(16))
    .join(':');
}
