/**
 * Cookies by which the relay recognizes the browser that pressed Continue. The relay
 * stores nothing about them, so any instance can check them.
 *
 * Continue uses the user code up, so a second tap, or Back from the provider, would
 * find it used. A cookie for that page leads this browser back to its sign-in; for
 * every other browser the code stays used.
 *
 * With CONFIRM=always a cookie for the callback says that the user confirmed in this
 * browser. Otherwise an attacker could confirm, and send another user the provider's
 * address to which Continue leads. RFC 9700 §4.7.1.
 */
import { hash } from 'node:crypto';
import { generateCookie } from 'hono/cookie';
import { parse } from 'hono/utils/cookie';
import { isCapability } from '../relay/secrets.ts';
import { formatUserCode, shortLinkOf } from './links.ts';
import { basePathOf, type RelayRequest } from './request.ts';

export interface ContinueCookies {
  /** The sign-in that this browser continued with this code. The client may have forged it. */
  findBrowserState(request: RelayRequest, userCode: string): string | undefined;
  /** Whether this browser may complete the sign-in: any may, unless CONFIRM=always. */
  mayComplete(request: RelayRequest, browserState: string): boolean;
  /** Sets the cookies with the response to Continue. */
  set(response: Response, service: string, browserState: string, userCode?: string): void;
}

export function createContinueCookies(
  baseUrl: string,
  sessionSeconds: number,
  asksAlways: boolean,
): ContinueCookies {
  // The parser lowercases the scheme, however the operator wrote it.
  const secure = new URL(baseUrl).protocol === 'https:';
  const prefix = secure ? '__Secure-' : '';
  const basePath = basePathOf(baseUrl);

  const codeCookie = (userCode: string) => `${prefix}continued-${formatUserCode(userCode)}`;
  /** One for each sign-in, because a browser may have several in progress. It contains a digest, not the state. */
  const callbackCookie = (browserState: string) =>
    `${prefix}continued-${hash('sha256', `continued:${browserState}`, 'base64url')}`;

  function read(request: RelayRequest, name: string): string {
    return parse(request.header('cookie') ?? '', name)[name] ?? '';
  }

  function add(response: Response, name: string, value: string, path: string): void {
    const cookie = generateCookie(name, value, {
      path,
      maxAge: sessionSeconds,
      httpOnly: true,
      secure,
      // The redirect back from the provider comes from another site.
      sameSite: 'Lax',
    });
    response.headers.append('Set-Cookie', cookie);
  }

  return {
    findBrowserState(request, userCode) {
      const browserState = read(request, codeCookie(userCode));
      return isCapability(browserState) ? browserState : undefined;
    },
    mayComplete: (request, browserState) =>
      !asksAlways || read(request, callbackCookie(browserState)) !== '',
    set(response, service, browserState, userCode) {
      if (userCode !== undefined) {
        add(response, codeCookie(userCode), browserState, shortLinkOf(basePath, userCode));
      }
      if (asksAlways) {
        add(response, callbackCookie(browserState), '1', `${basePath}/auth/${service}/callback`);
      }
    },
  };
}
