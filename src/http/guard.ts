/**
 * A deadline and a net for every handler: the runtime never ends a stalled one
 * (a POST whose body has arrived stays open for ever), and its own answer to an
 * error may show the error.
 */
import { createRequestId, describeError, log } from '../operate/log.ts';
import type { Deadlines } from '../relay/deadlines.ts';
import { StoreUnavailable } from '../relay/store.ts';
import type { Bindings, RequestContext } from './request-context.ts';

/** As Hono has it. */
export interface Env {
  Bindings: Bindings;
}

/** The request's id ties together what is logged of it. */
export type Handler = (c: RequestContext, requestId: string) => Promise<Response>;

/** As Handler, where nothing but the request may be held on to. */
export type PlainHandler = (request: Request, requestId: string) => Promise<Response>;

/** Answers with `answerFault` when the handler throws, or when the deadline comes first. */
export function guard(
  route: string,
  handler: Handler,
  deadlines: Deadlines,
  answerFault: (c: RequestContext) => Response,
): (c: RequestContext) => Promise<Response> {
  return (c) =>
    run(
      route,
      deadlines,
      (requestId) => handler(c, requestId),
      () => answerFault(c),
    );
}

export function guardPlain(
  route: string,
  handler: PlainHandler,
  deadlines: Deadlines,
  answerFault: () => Response,
): (request: Request) => Promise<Response> {
  return (request) =>
    run(route, deadlines, (requestId) => handler(request, requestId), answerFault);
}

function run(
  route: string,
  deadlines: Deadlines,
  handle: (requestId: string) => Promise<Response>,
  answerFault: () => Response,
): Promise<Response> {
  return new Promise((resolve) => {
    const requestId = createRequestId();
    const callOff = deadlines.add(() => {
      log.error('handler_deadline', { requestId, route });
      resolve(answerFault());
    });
    handle(requestId).then(
      (response) => {
        callOff();
        resolve(response);
      },
      (error: unknown) => {
        callOff();
        logFault(error, { requestId, route });
        resolve(answerFault());
      },
    );
  });
}

export function logFault(error: unknown, where: { requestId: string; route: string }): void {
  // Told once by the store itself; every request would repeat it.
  const level = error instanceof StoreUnavailable ? 'debug' : 'error';
  log[level]('handler_fault', { ...where, ...describeError(error) });
}
