/**
 * Cookies by which the relay knows the browser that pressed Continue. The relay
 * keeps nothing of them, so any instance can read them.
 *
 * Continue uses the user code up, so a second tap, or Back from the provider, would
 * find it used. A cookie for that page alone leads this browser back to its sign-in;
 * for everybody else the code stays used.
 *
 * With CONFIRM=always a cookie for the callback alone says that this browser was
 * asked. Otherwise an attacker could answer the question and send somebody else the
 * provider's address that Continue leads to. RFC 9700 §4.7.1.
 */
import { hash } from 'node:crypto';
import { generateCookie } from 'hono/cookie';
import { parse } from 'hono/utils/cookie';
import { isCapability } from '../relay/secrets.ts';
import { formatUserCode, shortLinkOf } from './links.ts';
import { basePathOf, type RelayRequest } from './request.ts';

export interface ContinueCookies {
  /** The sign-in that this browser continued with this code. The client may have made it up. */
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
  // The parser writes the scheme in lower case, whatever the operator wrote.
  const secure = new URL(baseUrl).protocol === 'https:';
  const prefix = secure ? '__Secure-' : '';
  const basePath = basePathOf(baseUrl);

  const codeCookie = (userCode: string) => `${prefix}continued-${formatUserCode(userCode)}`;
  /** One for each sign-in, as a browser may have several in progress. It does not hold the state itself. */
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
      // The way back from the provider begins at another site.
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
