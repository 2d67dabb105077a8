/** The front door of the specification: everything under `/auth/`. `protocol.md` §4. */
import { Hono } from 'hono';
import { HANDLER_DEADLINE_MS } from '../limits.ts';
import { createDeadlines } from '../relay/deadlines.ts';
import { emptyAnswer } from './answers.ts';
import { createAuthorize, createCallback } from './auth-browser.ts';
import type { AuthDoorOptions } from './auth-options.ts';
import { createResult } from './auth-result.ts';
import { createStart } from './auth-start.ts';
import { answerWithPage, refuse, refuseMethod } from './errors.ts';
import { type Env, guard } from './guard.ts';

export function createAuthDoor(options: AuthDoorOptions): Hono<Env> {
  const { clock, pollSeconds } = options;
  const deadlines = createDeadlines(clock, HANDLER_DEADLINE_MS);
  const pollDeadlines = createDeadlines(clock, pollSeconds * 1_000 + HANDLER_DEADLINE_MS);
  const answerBusy = () => refuse('busy');
  const answerFault = () => answerWithPage('fault');

  const door = new Hono<Env>();
  // `all`: Hono would hand HEAD to a GET handler, and HEAD must burn no tokens.
  door.all('/auth/start', guard(createStart(options), deadlines, answerBusy));
  // A faulted poll is told to come again: to devices in the field any error is final.
  door.all('/auth/result', guard(createResult(options), pollDeadlines, emptyAnswer));
  door.all('/auth/done', ({ req }) =>
    req.method === 'GET' ? answerWithPage('signed_in') : refuseMethod('GET'),
  );
  door.all('/auth/:service', guard(createAuthorize(options), deadlines, answerFault));
  door.all('/auth/:service/callback', guard(createCallback(options), deadlines, answerFault));
  return door;
}
