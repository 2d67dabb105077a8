/**
 * Who may use the dev relay: any program, and pages of its own. Not a page of another site
 * that is open in a browser on this machine, which reaches `127.0.0.1` too.
 */
import { isIP } from 'node:net';
import { hostname } from 'node:os';

/** A name or an address, and a port. RFC 9110 §7.2. */
const HOST = /^[\w.:[\]-]+$/;

/** The address that a request is for. Undefined if its Host makes no URL. HTTP/1.0 needs no Host: Bun then gives the path alone. */
export function urlOf({ url, headers }: Request): URL | undefined {
  const host = headers.get('host') || 'localhost';
  if (!HOST.test(host) || !URL.canParse(`http://${host}`)) return undefined;
  const address = url.startsWith('/') ? `http://${host}${url}` : url;
  return URL.canParse(address) ? new URL(address) : undefined;
}

/**
 * A page of another site may give its own name an address of this machine (DNS rebinding),
 * and is then the same origin for its browser. It cannot do so to an address, to a name
 * without a dot, or to the name of this machine.
 */
export function hasOwnHost({ hostname: name }: URL): boolean {
  const own = hostname().toLowerCase();
  const isAddress = isIP(name.replace(/^\[|\]$/g, '')) !== 0;
  return isAddress || !name.includes('.') || name === own || name === `${own}.local`;
}

/** Whether a page of another origin sends it. Browsers leave out `Sec-Fetch-Site` over plain http to other machines. */
export function isOfOtherPage({ headers }: Request, { origin }: URL): boolean {
  const site = headers.get('sec-fetch-site');
  if (site !== null) return site !== 'same-origin' && site !== 'none';
  const sender = headers.get('origin');
  return sender !== null && sender !== origin;
}
