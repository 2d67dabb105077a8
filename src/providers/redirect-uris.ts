/**
 * Which redirect URIs a provider refuses. They decide whether a relay on this machine, in a home
 * network or under a local name can be registered there.
 */
import ipaddr from 'ipaddr.js';
import { isLoopback, parseUrl } from './url.ts';

/** What a provider may refuse in a redirect URI, and what to write instead. */
export const REDIRECT_KINDS = {
  localhost: { what: 'the name localhost', instead: 'write 127.0.0.1 instead' },
  loopback: { what: 'a loopback address', instead: 'write localhost instead' },
  http: { what: 'plain http', instead: 'use https' },
  address: { what: 'an IP address', instead: 'use a name' },
  private: { what: 'a name that is not in the public DNS', instead: 'use one that is' },
} as const;

export type RedirectKind = keyof typeof REDIRECT_KINDS;

/** Never in the public DNS: RFC 6761 §6, RFC 6762 §3 and its appendix G, RFC 8375 §3. */
const PRIVATE_NAME =
  /\.(localhost|test|invalid|local|home\.arpa|intranet|internal|private|corp|home|lan)$/;

/** What a provider may refuse in redirect URIs with this base URL. Empty if no provider is known to refuse them. */
export function redirectKindsOf(baseUrl: string): readonly RedirectKind[] {
  const url = parseUrl(baseUrl);
  if (url === undefined) return [];
  if (isLoopback(url)) return [url.hostname === 'localhost' ? 'localhost' : 'loopback'];
  const host = url.hostname.replace(/^\[|\]$|\.$/g, '');
  const isAddress = ipaddr.isValid(host);
  const isPrivate = !isAddress && (!host.includes('.') || PRIVATE_NAME.test(host));
  return [
    ...(url.protocol === 'http:' ? (['http'] as const) : []),
    ...(isAddress ? (['address'] as const) : []),
    ...(isPrivate ? (['private'] as const) : []),
  ];
}
