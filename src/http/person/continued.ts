/**
 * Continue uses the code up, so a second tap, or Back from the provider, would
 * find it used. A cookie for this page alone leads the browser that pressed
 * Continue back to its sign-in; for everybody else the code stays used.
 */
import { generateCookie } from 'hono/cookie';
import { parse } from 'hono/utils/cookie';
import { CAPABILITY_SHAPE } from '../../limits.ts';
import type { AuthDoorOptions } from '../door-options.ts';
import type { RequestContext } from '../request-context.ts';
import { basePathOf } from '../request-path.ts';
import { formatUserCode, shortLinkOf } from '../user-code.ts';

export interface Continued {
  /** The sign-in that this browser continued with this code. The client may have made it up. */
  browserStateOf(c: RequestContext, userCode: string): string | undefined;
  remember(response: Response, userCode: string, browserState: string): void;
}

export function createContinued({ baseUrl, sessionSeconds }: AuthDoorOptions): Continued {
  // The parser writes the scheme in lower case, whatever the operator wrote.
  const secure = new URL(baseUrl).protocol === 'https:';
  const prefix = secure ? '__Secure-' : '';
  const basePath = basePathOf(baseUrl);
  const nameOf = (userCode: string) => `${prefix}continued-${formatUserCode(userCode)}`;

  return {
    browserStateOf(c, userCode) {
      const name = nameOf(userCode);
      const browserState = parse(c.req.header('cookie') ?? '', name)[name] ?? '';
      return CAPABILITY_SHAPE.test(browserState) ? browserState : undefined;
    },
    remember(response, userCode, browserState) {
      const cookie = generateCookie(nameOf(userCode), browserState, {
        path: shortLinkOf(basePath, userCode),
        maxAge: sessionSeconds,
        httpOnly: true,
        secure,
        // Back from the provider is a visit from elsewhere.
        sameSite: 'Lax',
      });
      response.headers.append('Set-Cookie', cookie);
    },
  };
}
