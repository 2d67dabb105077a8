/** Finds the client's address, for the rate limits. RFC 9700 §4.13. */
import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** No proxy writes a longer `X-Forwarded-For`. */
const MAX_FORWARDED_FOR_CHARACTERS = 4_096;
const MAX_FORWARDED_FOR_HOPS = 32;

/** An IPv6 client has a /64, so one rate-limit bucket covers that. */
const IPV6_BUCKET_GROUPS = 64 / 16;

/** IPv4 addresses are numbers, not objects, because most clients have one and this is faster. */
type Address = number | ipaddr.IPv6;

export interface ClientAddress {
  /** One rate-limit bucket: an IPv4 address or an IPv6 /64. */
  readonly bucket: string;
  /** A forwarded header came from a peer that is not trusted, and was ignored. */
  readonly ignoredForwarded: boolean;
}

/** Undefined if the address cannot be determined. */
export type FindClientAddress = (
  peerAddress: string | undefined,
  forwardedFor: string | undefined,
) => ClientAddress | undefined;

/**
 * Finds the client's address: the socket's peer, or, when the peer is a trusted
 * proxy, the rightmost forwarded hop that is not a trusted proxy. Hops further left
 * may be forged, but must be well-formed too.
 */
export function createFindClientAddress(trustedProxyCidrs: readonly string[]): FindClientAddress {
  const trusted = trustedProxyCidrs.map(parseCidr);
  // Caches the last peer: behind a proxy it is always the same.
  let peerText = '';
  let peer: Address | undefined;
  let peerIsProxy = false;

  return (peerAddress = '', forwardedFor) => {
    if (peerAddress !== peerText) {
      peerText = peerAddress;
      // Node adds the zone to a link-local address, Bun does not (RFC 4007 §11).
      const [address = ''] = peerAddress.split('%', 1);
      peer = parseAddress(address);
      peerIsProxy = peer !== undefined && isTrusted(peer, trusted);
    }
    if (peer === undefined) return undefined;
    if (forwardedFor === undefined || !peerIsProxy) {
      return { bucket: bucketOf(peer), ignoredForwarded: forwardedFor !== undefined };
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
  if (isIPv4(text)) return bitsOf(text);
  if (!text.includes(':') || text.includes('%') || !ipaddr.IPv6.isValid(text)) return undefined;
  const address = ipaddr.IPv6.parse(text);
  return address.isIPv4MappedAddress() ? bitsOf(address.toIPv4Address().toString()) : address;
}

/** The 32 bits of an address that isIPv4 has accepted. */
function bitsOf(ipv4: string): number {
  let bits = 0;
  let octet = 0;
  for (let at = 0; at < ipv4.length; at += 1) {
    const digit = ipv4.charCodeAt(at) - 0x30;
    if (digit >= 0) {
      octet = octet * 10 + digit;
    } else {
      bits = bits * 256 + octet;
      octet = 0;
    }
  }
  return bits * 256 + octet;
}

type Cidr =
  | { readonly ipv4: number; readonly size: number }
  | { readonly ipv6: ipaddr.IPv6; readonly bits: number };

/** The settings have been checked. A single address is a CIDR of its full length. */
function parseCidr(text: string): Cidr {
  const [start, bits] = ipaddr.parseCIDR(
    text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`,
  );
  const isMapped = start instanceof ipaddr.IPv6 && start.isIPv4MappedAddress() && bits >= 96;
  if (start instanceof ipaddr.IPv6 && !isMapped) return { ipv6: start, bits };
  const ipv4 = isMapped ? start.toIPv4Address() : start;
  const size = 2 ** (32 - (isMapped ? bits - 96 : bits));
  const first = bitsOf(ipv4.toString());
  return { ipv4: first - (first % size), size };
}

function isTrusted(address: Address, trusted: readonly Cidr[]): boolean {
  for (const cidr of trusted) {
    if (typeof address === 'number') {
      if ('ipv4' in cidr && address >= cidr.ipv4 && address < cidr.ipv4 + cidr.size) return true;
    } else if ('ipv6' in cidr && address.match(cidr.ipv6, cidr.bits)) {
      return true;
    }
  }
  return false;
}

function bucketOf(address: Address): string {
  if (typeof address === 'number') {
    return `${address >>> 24}.${(address >>> 16) & 255}.${(address >>> 8) & 255}.${address & 255}`;
  }
  return address.parts
    .slice(0, IPV6_BUCKET_GROUPS)
    .map((part) => part.toString(16))
    .join(':');
}
