/** The front door of the specification: everything under `/auth/`. `protocol.md` §4. */
import { Hono } from 'hono';
import { HANDLER_DEADLINE_MS } from '../../limits.ts';
import type { FindPages } from '../../pages/pages.ts';
import { createDeadlines } from '../../relay/deadlines.ts';
import type { AuthDoorOptions } from '../door-options.ts';
import { createAnswerWithPage, refuse, refuseMethod } from '../errors.ts';
import { type Env, guard } from '../guard.ts';
import { createConfirmLink } from '../person/confirm.ts';
import { createPersonPages } from '../person/pages.ts';
import { createAuthorize, createCallback } from './browser.ts';
import { createStart } from './start.ts';

export function createAuthDoor(options: AuthDoorOptions, findPages: FindPages): Hono<Env> {
  const { clock } = options;
  const deadlines = createDeadlines(clock, HANDLER_DEADLINE_MS);
  const answerBusy = () => refuse('busy');
  const answerWithPage = createAnswerWithPage(findPages);
  const answerFault: Parameters<typeof guard>[2] = ({ req }) => answerWithPage('fault', req);
  const authorize =
    options.confirm === 'always'
      ? createConfirmLink(options, createPersonPages(options, findPages))
      : createAuthorize(options, answerWithPage);

  const door = new Hono<Env>();
  // `all`: Hono would hand HEAD to a GET handler, and HEAD must burn no tokens.
  door.all('/auth/start', guard(createStart(options), deadlines, answerBusy));
  door.all('/auth/done', ({ req }) =>
    req.method === 'GET' ? answerWithPage('signed_in', req) : refuseMethod('GET'),
  );
  door.all('/auth/:service', guard(authorize, deadlines, answerFault));
  door.all(
    '/auth/:service/callback',
    guard(createCallback(options, answerWithPage), deadlines, answerFault),
  );
  return door;
}
