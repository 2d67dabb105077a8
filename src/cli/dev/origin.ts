/**
 * Which requests the dev relay and its provider take. Any program may
 * send requests, and so may their own pages: not a page of another site in a browser on this
 * machine, which reaches `127.0.0.1` too.
 */
import { isIP } from 'node:net';
import { hostname } from 'node:os';

/** A name or an address, and a port. RFC 9110 §7.2. */
const HOST = /^[\w.:[\]-]+$/;

/** The URL of a request. Undefined if its Host is invalid. HTTP/1.0 needs no Host: Bun then gives only the path. */
export function readUrl({ url, headers }: Request): URL | undefined {
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
function hasOwnHost({ hostname: name }: URL): boolean {
  const own = hostname().toLowerCase();
  const isAddress = isIP(name.replace(/^\[|\]$/g, '')) !== 0;
  return isAddress || !name.includes('.') || name === own || name === `${own}.local`;
}

/** Why a request is refused: a page of another site must not choose how sign-ins end, nor read what happened. */
export function crossSiteProblem({ method, headers }: Request, url: URL): string | undefined {
  if (!hasOwnHost(url)) {
    return `${url.host} is not a name of this machine: use its IP address, or localhost`;
  }
  if (method === 'GET' || method === 'HEAD') return undefined;
  // Browsers do not send `Sec-Fetch-Site` over plain http to other machines.
  const site = headers.get('sec-fetch-site');
  const sender = headers.get('origin') ?? url.origin;
  const isOwn = site === null ? sender === url.origin : site === 'same-origin' || site === 'none';
  return isOwn ? undefined : 'only programs and pages of this origin may do this';
}
