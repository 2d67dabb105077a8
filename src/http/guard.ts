/**
 * A deadline and a net for every handler: the runtime never ends a stalled one
 * (a POST whose body has arrived stays open for ever), and its own answer to an
 * error may show the error.
 */
import { createRequestId, describeError, log } from '../operate/log.ts';
import type { Deadlines } from '../relay/deadlines.ts';
import { StoreUnavailable } from '../relay/store.ts';
import type { RequestContext } from './request-context.ts';

/** Asked is what it is given of a request; the id ties together what is logged of it. */
export type Handler<Asked = RequestContext> = (
  asked: Asked,
  requestId: string,
) => Promise<Response>;

/** Answers with `answerFault` when the handler throws, or when the deadline comes first. */
export function guard<Asked>(
  route: string,
  handler: Handler<Asked>,
  deadlines: Deadlines,
  answerFault: (asked: Asked) => Response,
): (asked: Asked) => Promise<Response> {
  return (asked) =>
    new Promise((resolve) => {
      const requestId = createRequestId();
      const wait = deadlines.add(() => {
        log.error('handler_deadline', { requestId, route });
        resolve(answerFault(asked));
      });
      function settle(response: Response): void {
        deadlines.callOff(wait);
        resolve(response);
      }
      handler(asked, requestId).then(settle, (error: unknown) => {
        logFault(error, { requestId, route });
        settle(answerFault(asked));
      });
    });
}

export function logFault(error: unknown, where: { requestId: string; route: string }): void {
  // Told once by the store itself; every request would repeat it.
  const level = error instanceof StoreUnavailable ? 'debug' : 'error';
  log[level]('handler_fault', { ...where, ...describeError(error) });
}
