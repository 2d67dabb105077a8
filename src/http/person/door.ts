/** The person's door: the home page, where codes are typed, and what a code leads to. docs/person.md. */
import { Hono } from 'hono';
import { HANDLER_DEADLINE_MS } from '../../limits.ts';
import type { FindPages } from '../../pages/pages.ts';
import { createDeadlines } from '../../relay/deadlines.ts';
import type { AuthDoorOptions } from '../door-options.ts';
import { refuseMethod } from '../errors.ts';
import { guard, type Handler } from '../guard.ts';
import type { Env } from '../request-context.ts';
import { createTakeCode } from './code-form.ts';
import { createConfirmCode } from './confirm.ts';
import { createPersonPages } from './pages.ts';

export function createPersonDoor(options: AuthDoorOptions, findPages: FindPages): Hono<Env> {
  const pages = createPersonPages(options, findPages);
  const deadlines = createDeadlines(options.clock, HANDLER_DEADLINE_MS);
  const guarded = (route: string, handler: Handler) =>
    guard(route, handler, deadlines, ({ req }) => pages.tell('fault', req));
  const takeCode = guarded('/link', createTakeCode(options, pages));
  const confirmCode = guarded('/L/:code', createConfirmCode(options, pages));

  const door = new Hono<Env>();
  door.all('/', ({ req }) => (isRead(req.method) ? pages.home(req) : refuseMethod('GET, HEAD')));
  door.all('/link', (c) => {
    if (isRead(c.req.method)) return pages.codeForm(c.req);
    return c.req.method === 'POST' ? takeCode(c) : refuseMethod('GET, HEAD, POST');
  });
  door.all('/L/:code', confirmCode);
  // For somebody who types the whole address.
  door.all('/l/:code', confirmCode);
  return door;
}

/** These two pages are the same for everybody, and monitors ask for them with HEAD. */
function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}
