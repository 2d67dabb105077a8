/**
 * Cookies by which the relay knows the browser that pressed Continue. It keeps
 * nothing of them itself, so any instance can read them.
 *
 * Continue uses the code up, so a second tap, or Back from the provider, would
 * find it used. A cookie for that page alone leads this browser back to its
 * sign-in; for everybody else the code stays used.
 *
 * With CONFIRM=always a cookie for the callback alone says that this browser was
 * asked. Otherwise an attacker could answer the question, and send somebody else
 * the provider's address that Continue leads to. RFC 9700 §4.7.1.
 */
import { hash } from 'node:crypto';
import { generateCookie } from 'hono/cookie';
import { parse } from 'hono/utils/cookie';
import { CAPABILITY_SHAPE } from '../../limits.ts';
import type { Found } from '../../relay/store.ts';
import type { AuthDoorOptions } from '../door-options.ts';
import type { RequestContext } from '../request-context.ts';
import { basePathOf } from '../request-path.ts';
import { formatUserCode, shortLinkOf } from '../user-code.ts';

export interface Continued {
  /** The sign-in that this browser continued with this code. The client may have made it up. */
  browserStateOf(c: RequestContext, userCode: string): string | undefined;
  /** Whether this browser may finish the sign-in: any may, unless CONFIRM=always. */
  mayFinish(c: RequestContext, browserState: string): boolean;
  /** Leaves the cookies with the answer to Continue. */
  remember(response: Response, found: Found, userCode?: string): void;
}

type Options = Pick<AuthDoorOptions, 'baseUrl' | 'sessionSeconds' | 'confirm'>;

export function createContinued({ baseUrl, sessionSeconds, confirm }: Options): Continued {
  // The parser writes the scheme in lower case, whatever the operator wrote.
  const secure = new URL(baseUrl).protocol === 'https:';
  const prefix = secure ? '__Secure-' : '';
  const basePath = basePathOf(baseUrl);

  const codeCookie = (userCode: string) => `${prefix}continued-${formatUserCode(userCode)}`;
  /** One for each sign-in, as a browser may have several under way. The state itself stays out. */
  const callbackCookie = (browserState: string) =>
    `${prefix}continued-${hash('sha256', `continued:${browserState}`, 'base64url')}`;

  function read(c: RequestContext, name: string): string {
    return parse(c.req.header('cookie') ?? '', name)[name] ?? '';
  }

  function leave(response: Response, name: string, value: string, path: string): void {
    const cookie = generateCookie(name, value, {
      path,
      maxAge: sessionSeconds,
      httpOnly: true,
      secure,
      // Back from the provider is a visit from elsewhere.
      sameSite: 'Lax',
    });
    response.headers.append('Set-Cookie', cookie);
  }

  return {
    browserStateOf(c, userCode) {
      const browserState = read(c, codeCookie(userCode));
      return CAPABILITY_SHAPE.test(browserState) ? browserState : undefined;
    },
    mayFinish: (c, browserState) =>
      confirm !== 'always' || read(c, callbackCookie(browserState)) !== '',
    remember(response, { service, browserState }, userCode) {
      if (userCode !== undefined) {
        leave(response, codeCookie(userCode), browserState, shortLinkOf(basePath, userCode));
      }
      if (confirm === 'always') {
        leave(response, callbackCookie(browserState), '1', `${basePath}/auth/${service}/callback`);
      }
    },
  };
}
