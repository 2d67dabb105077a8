/**
 * A deadline and a net for every handler: the runtime never ends a stalled one
 * (a POST whose body has arrived stays open for ever), and its own answer to an
 * error may show the error.
 */
import type { Context } from 'hono';
import { createRequestId, describeError, log } from '../operate/log.ts';
import type { Deadlines } from '../relay/deadlines.ts';
import { StoreUnavailable } from '../relay/store.ts';

export interface Env {
  Bindings: {
    /** The socket's peer, as the runtime tells it; undefined when it cannot. */
    readonly findPeerAddress: () => string | undefined;
  };
}

/** The request's id ties together what is logged of it. */
export type Handler = (c: Context<Env>, requestId: string) => Promise<Response>;

/** As Handler, for a request that is answered without Hono. */
export type PlainHandler = (request: Request, requestId: string) => Promise<Response>;

/** Answers with `answerFault` when the handler throws, or when the deadline comes first. */
export function guard(
  handler: Handler,
  deadlines: Deadlines,
  answerFault: (c: Context<Env>) => Response,
): (c: Context<Env>) => Promise<Response> {
  return (c) =>
    run(
      c.req.routePath,
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
