/**
 * With CONFIRM=always, and in open sign-ins, a cookie for the callback identifies the browser that
 * pressed Continue. Otherwise an attacker could press Continue, and send a victim the provider's URL to which that
 * redirects. RFC 9700 §4.7.1. The relay stores nothing about the cookies, so any instance can
 * check them.
 *
 * Over https the name begins with `__Host-`: a browser accepts such a cookie only from the host
 * that it belongs to. With any other name, each host of the same site could set it, since the
 * attacker knows the state that the name is made of. docs/user-pages.md.
 */
import { hash } from 'node:crypto';
import { generateCookie } from 'hono/cookie';
import { parse } from 'hono/utils/cookie';
import type { RelayRequest } from './request.ts';

/**
 * How many of these cookies a browser keeps: 2 KiB. They are sent with every request to the
 * host, and many servers refuse headers of more than 8 KiB.
 */
const MAX_COOKIES = 32;

export type ContinueCookies = ReturnType<typeof createContinueCookies>;

export function createContinueCookies(baseUrl: string, sessionSeconds: number) {
  // The parser lowercases the scheme.
  const secure = new URL(baseUrl).protocol === 'https:';
  const prefix = `${secure ? '__Host-' : ''}continued-`;
  const isOwn = (name: string) =>
    name.startsWith(prefix) && /^[\w-]{43}$/.test(name.slice(prefix.length));

  /** One cookie for each sign-in, because a browser may have several in progress. It contains a digest, not the state. */
  const nameOf = (browserState: string) =>
    prefix + hash('sha256', `continued:${browserState}`, 'base64url');

  const cookiesOf = (request: RelayRequest) => parse(request.header('cookie') ?? '');

  const write = (name: string, value: string, maxAge: number) =>
    // Lax: the redirect back from the provider comes from another site.
    generateCookie(name, value, { path: '/', maxAge, httpOnly: true, secure, sameSite: 'Lax' });

  return {
    /** True if the user pressed Continue in this browser. */
    hasContinued: (request: RelayRequest, browserState: string) =>
      (cookiesOf(request)[nameOf(browserState)] ?? '') !== '',
    /** Sets the cookie with the response to Continue. */
    set(request: RelayRequest, response: Response, browserState: string): void {
      const name = nameOf(browserState);
      const others = Object.keys(cookiesOf(request)).filter(isOwn);
      // Browsers send the oldest first. RFC 6265 §5.4.
      for (const old of others.filter((each) => each !== name).slice(0, 1 - MAX_COOKIES)) {
        response.headers.append('Set-Cookie', write(old, '', 0));
      }
      response.headers.append('Set-Cookie', write(name, '1', sessionSeconds));
    },
  };
}
