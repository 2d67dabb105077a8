/**
 * With CONFIRM=always a cookie for the callback identifies the browser that pressed Continue.
 * Otherwise an attacker could press it, and send another user the provider's URL to which it
 * redirects. RFC 9700 §4.7.1. The relay stores nothing about the cookies, so any instance can
 * check them.
 */
import { hash } from 'node:crypto';
import { generateCookie } from 'hono/cookie';
import { parse } from 'hono/utils/cookie';
import { basePathOf, type RelayRequest } from './request.ts';

export interface ContinueCookies {
  /** Whether this browser may complete the sign-in: any may, unless CONFIRM=always. */
  mayComplete(request: RelayRequest, browserState: string): boolean;
  /** Sets the cookie with the response to Continue, if CONFIRM=always. */
  set(response: Response, service: string, browserState: string): void;
}

export function createContinueCookies(
  baseUrl: string,
  sessionSeconds: number,
  asksAlways: boolean,
): ContinueCookies {
  // The parser lowercases the scheme.
  const secure = new URL(baseUrl).protocol === 'https:';
  const prefix = secure ? '__Secure-' : '';
  const basePath = basePathOf(baseUrl);

  /** One cookie for each sign-in, because a browser may have several in progress. It contains a digest, not the state. */
  const nameOf = (browserState: string) =>
    `${prefix}continued-${hash('sha256', `continued:${browserState}`, 'base64url')}`;

  return {
    mayComplete(request, browserState) {
      if (!asksAlways) return true;
      const name = nameOf(browserState);
      return (parse(request.header('cookie') ?? '', name)[name] ?? '') !== '';
    },
    set(response, service, browserState) {
      if (!asksAlways) return;
      const cookie = generateCookie(nameOf(browserState), '1', {
        path: `${basePath}/auth/${service}/callback`,
        maxAge: sessionSeconds,
        httpOnly: true,
        secure,
        // The redirect back from the provider comes from another site.
        sameSite: 'Lax',
      });
      response.headers.append('Set-Cookie', cookie);
    },
  };
}
