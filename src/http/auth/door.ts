/**
 * The front door of the specification: everything under `/auth/`. `protocol.md` §4.
 * Five routes, told apart without Hono: nearly all that a relay is asked goes
 * through here, and Hono's context is a fifth of what a sign-in would allocate.
 */
import { HANDLER_DEADLINE_MS } from '../../limits.ts';
import type { FindPages } from '../../pages/pages.ts';
import { createDeadlines } from '../../relay/deadlines.ts';
import type { AuthDoorOptions } from '../door-options.ts';
import { createAnswerWithPage, refuse, refuseMethod } from '../errors.ts';
import { guard, type Handler } from '../guard.ts';
import { createConfirmLink } from '../person/confirm.ts';
import { createPersonPages } from '../person/pages.ts';
import type { RequestContext } from '../request-context.ts';
import { createAuthorize, createCallback } from './browser.ts';
import { createAnswerPoll, POLL_PATH } from './result.ts';
import { createStart } from './start.ts';

export const AUTH_PREFIX = '/auth/';

/** For a path that begins with AUTH_PREFIX. Never throws. */
export type AuthDoor = (c: RequestContext) => Response | Promise<Response>;

export function createAuthDoor(options: AuthDoorOptions, findPages: FindPages): AuthDoor {
  const deadlines = createDeadlines(options.clock, HANDLER_DEADLINE_MS);
  const answerWithPage = createAnswerWithPage(findPages);
  const withPage = (route: string, handler: Handler) =>
    guard(route, handler, deadlines, ({ req }) => answerWithPage('fault', req));

  const start = guard('/auth/start', createStart(options), deadlines, () => refuse('busy'));
  const answerPoll = createAnswerPoll(options);
  const done = withPage('/auth/done', async ({ req }) =>
    req.method === 'GET' ? answerWithPage('signed_in', req) : refuseMethod('GET'),
  );
  const authorize = withPage(
    '/auth/:service',
    options.confirm === 'always'
      ? createConfirmLink(options, createPersonPages(options, findPages))
      : createAuthorize(options, answerWithPage),
  );
  const callback = withPage('/auth/:service/callback', createCallback(options, answerWithPage));

  return (c) => {
    const { path, raw } = c.req;
    if (path === POLL_PATH) return answerPoll(raw);
    if (path === '/auth/start') return start(c);
    if (path === '/auth/done') return done(c);
    const [service, action, ...more] = path.slice(AUTH_PREFIX.length).split('/');
    if (!service || more.length > 0) return refuse('not_found');
    if (action === undefined) return authorize(c);
    return action === 'callback' ? callback(c) : refuse('not_found');
  };
}
