/**
 * Who may use the dev relay: any program, and its own pages. Not a page of another site in
 * a browser on this machine, which reaches `127.0.0.1` too.
 */
import { isIP } from 'node:net';
import { hostname } from 'node:os';

/** A name or an address, and a port. RFC 9110 §7.2. */
const HOST = /^[\w.:[\]-]+$/;

/** The URL of a request. Undefined if its Host is invalid. HTTP/1.0 needs no Host: Bun then gives only the path. */
export function urlOf({ url, headers }: Request): URL | undefined {
  const host = headers.get('host') || 'localhost';
  if (!HOST.test(host) || !URL.canParse(`http://${host}`)) return undefined;
  const absolute = url.startsWith('/') ? `http://${host}${url}` : url;
  return URL.canParse(absolute) ? new URL(absolute) : undefined;
}

/**
 * A website can point its own name at this machine (DNS rebinding), so that its pages have
 * the same origin as the dev relay. That is impossible with an IP address, a name without a
 * dot and the name of this machine.
 */
export function hasOwnHost({ hostname: name }: URL): boolean {
  const own = hostname().toLowerCase();
  const isAddress = isIP(name.replace(/^\[|\]$/g, '')) !== 0;
  return isAddress || !name.includes('.') || name === own || name === `${own}.local`;
}

/** Browsers send no `Sec-Fetch-Site` over plain http to other machines. */
export function isCrossOrigin({ headers }: Request, { origin }: URL): boolean {
  const site = headers.get('sec-fetch-site');
  if (site !== null) return site !== 'same-origin' && site !== 'none';
  const sender = headers.get('origin');
  return sender !== null && sender !== origin;
}
