/**
 * A person who taps again, or comes back from the provider, finds the code used
 * up by themselves. So Continue leaves the link with the browser that used the
 * code, in a cookie that no script reads and that is sent to this page alone.
 * Nobody else can use the code again.
 */
import { generateCookie } from 'hono/cookie';
import { parse } from 'hono/utils/cookie';
import { CAPABILITY_SHAPE } from '../../limits.ts';
import type { AuthDoorOptions } from '../door-options.ts';
import type { RequestContext } from '../request-context.ts';
import { basePathOf } from '../request-path.ts';

const NAME = 'link';

export interface Returning {
  /** Which sign-in this browser has used the code of. */
  browserStateOf(c: RequestContext): string | undefined;
  remember(c: RequestContext, response: Response, browserState: string): Response;
}

export function createReturning({ baseUrl, sessionSeconds }: AuthDoorOptions): Returning {
  const secure = baseUrl.startsWith('https:');
  const basePath = basePathOf(baseUrl);
  return {
    browserStateOf(c) {
      const browserState = parse(c.req.header('cookie') ?? '', NAME)[NAME] ?? '';
      return CAPABILITY_SHAPE.test(browserState) ? browserState : undefined;
    },
    remember(c, response, browserState) {
      const path = basePath + c.req.path;
      const cookie = generateCookie(NAME, browserState, {
        ...{ path, secure, httpOnly: true, maxAge: sessionSeconds },
        // Back from the provider is a visit from elsewhere.
        sameSite: 'Lax',
      });
      response.headers.append('Set-Cookie', cookie);
      return response;
    },
  };
}
