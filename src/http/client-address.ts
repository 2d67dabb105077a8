/** Whose request it is, for the rate limit. `design.md`, "client address"; RFC 9700 §4.13. */
import ipaddr from 'ipaddr.js';
import { FORWARDED_FOR_BYTES, FORWARDED_FOR_HOPS, IPV6_BUCKET_PREFIX_BITS } from '../limits.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

export type ClientAddress =
  | {
      readonly ok: true;
      /** One rate-limit bucket: an IPv4 address or an IPv6 /64. */
      readonly bucket: string;
      /** A forwarded header came from a peer that is not trusted, and was not looked at. */
      readonly ignoredForwarded: boolean;
    }
  | { readonly ok: false };

export type FindClientAddress = (
  peerAddress: string | undefined,
  forwardedFor: string | undefined,
) => ClientAddress;

/**
 * Finds the client's address: the socket's peer, or, when the peer is a trusted
 * proxy, the rightmost forwarded hop that is not one. What stands further left
 * may be forged, but must be well-formed all the same.
 */
export function createFindClientAddress(trustedProxyCidrs: readonly string[]): FindClientAddress {
  const trusted = trustedProxyCidrs.map(parseCidr);
  const isTrusted = (address: Address) => trusted.some((cidr) => matches(address, cidr));

  const readPeer = rememberLast((peerAddress: string) => {
    // Node names a link-local peer with its zone, Bun without (RFC 4007 §11).
    const peer = parseAddress(peerAddress.replace(/%.*$/, ''));
    return peer && { peer, isProxy: isTrusted(peer), bucket: bucketOf(peer) };
  });

  return (peerAddress, forwardedFor) => {
    const read = readPeer(peerAddress ?? '');
    if (read === undefined) return { ok: false };
    const { peer, isProxy, bucket } = read;
    if (forwardedFor === undefined || !isProxy) {
      return { ok: true, bucket, ignoredForwarded: forwardedFor !== undefined };
    }
    const hops = parseForwardedFor(forwardedFor);
    if (hops === undefined) return { ok: false };
    const client = hops.findLast((hop) => !isTrusted(hop)) ?? hops[0] ?? peer;
    return { ok: true, bucket: bucketOf(client), ignoredForwarded: false };
  };
}

/** Behind a proxy the peer is the same for ever, and reading an address costs as much as routing a request. */
function rememberLast<T>(read: (text: string) => T): (text: string) => T {
  let last: { readonly text: string; readonly value: T } | undefined;
  return (text) => {
    if (last?.text !== text) last = { text, value: read(text) };
    return last.value;
  };
}

function parseForwardedFor(header: string): Address[] | undefined {
  if (header.length > FORWARDED_FOR_BYTES) return undefined;
  const hops = header.split(',');
  if (hops.length > FORWARDED_FOR_HOPS) return undefined;
  const addresses = hops.map((hop) => parseAddress(withoutPort(hop.trim())));
  return addresses.every((address) => address !== undefined) ? addresses : undefined;
}

/** Some proxies name the port too: `192.0.2.1:4711`, `[2001:db8::1]:4711`, RFC 7239 §6. */
function withoutPort(hop: string): string {
  return (
    /^(\d+\.\d+\.\d+\.\d+):\d{1,5}$/.exec(hop)?.[1] ??
    /^\[(.+)\](?::\d{1,5})?$/.exec(hop)?.[1] ??
    hop
  );
}

/**
 * Strict: no `0x7f.1`, no `127.1`, and no zone, as `fe80::1%eth0` means
 * something on one machine alone. An IPv4-mapped IPv6 address is the IPv4 address.
 */
function parseAddress(text: string): Address | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  if (!text.includes(':') || text.includes('%') || !ipaddr.IPv6.isValid(text)) return undefined;
  const address = ipaddr.IPv6.parse(text);
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/** Settings are checked before; a single address is a CIDR of its full length. */
function parseCidr(text: string): [Address, number] {
  const [address, bits] = ipaddr.parseCIDR(
    text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`,
  );
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96
    ? [address.toIPv4Address(), bits - 96]
    : [address, bits];
}

function matches(address: Address, [range, bits]: [Address, number]): boolean {
  return address.kind() === range.kind() && address.match(range, bits);
}

function bucketOf(address: Address): string {
  if (address instanceof ipaddr.IPv4) return address.toString();
  return address.parts
    .slice(0, IPV6_BUCKET_PREFIX_BITS / 16)
    .map((part) => part.toString(16))
    .join(':');
}
