/** Requests that are repeated until there is a response that means something. */
import { type Failure, fail } from './errors.ts';
import type { Call, Request } from './platform.ts';

export interface Reply {
  /** 0: no complete response. */
  readonly status: number;
  /** The members of a JSON object; none where the response is anything else. */
  readonly json: Readonly<Record<string, unknown>>;
  /** How long it took. */
  readonly tookMs: number;
  /** Present if the same request would be refused again. */
  readonly refusal: Failure | undefined;
}

/** Not what a relay answers, or it will pass: ask again, after a pause that grows each time. */
export const AGAIN = null;

/** What is to be done with a response. A number: ask again in so many milliseconds, or `AGAIN`. Undefined: this was the last. */
export type Take = (reply: Reply) => number | typeof AGAIN | undefined;

/** A relay may wait 15 s for the provider. */
const REQUEST_MS = 17_000;
/** How long a request is tried that has no session, whose end would be the limit. */
const TRY_MS = 60_000;
/** Half of a pause is random, so that devices which failed together do not return together. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 8_000;

export function ask(
  call: Call,
  request: Request,
  take: Take,
  giveUp: (failure: Failure) => void,
  timeoutMs = REQUEST_MS,
  endMs = call.platform.now() + TRY_MS,
): void {
  const { now, later, random, send } = call.platform;
  let pauseMs = FIRST_PAUSE_MS;

  function again(): void {
    if (call.isStopped) return;
    const askedAtMs = now();
    call.abandon = send(request, timeoutMs, (status, text, retryAfter) => {
      // The relay writes no HTML here: it is of a proxy or a captive portal, whatever its status.
      const isHtml = /^\s*</.test(text);
      // A response of status 200 may hold secrets.
      const detail = status > 200 ? `${status} ${text.slice(0, 99)}` : '';
      const isRefusal = !isHtml && /^4(?!08|25|29)/.test(`${status}`);
      let delayMs = take({
        status,
        json: parse(text),
        refusal: isRefusal ? fail('refused', detail) : undefined,
        tookMs: now() - askedAtMs,
      });
      if (delayMs === undefined) return;
      if (delayMs === AGAIN) {
        delayMs = Math.max((pauseMs * (1 + random())) / 2, Number(retryAfter) * 1_000 || 0);
        pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      } else {
        pauseMs = FIRST_PAUSE_MS;
      }
      if (now() + delayMs < endMs) call.abandon = later(delayMs, again);
      else giveUp(fail(status > 200 && !isHtml ? 'busy' : 'unreachable', detail));
    });
  }

  again();
}

export function stop(call: Call): void {
  const { platform, abandon, cancel } = call;
  call.isStopped = true;
  abandon?.();
  cancel?.({ platform }, {}, () => {});
}

function parse(text: string): Reply['json'] {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}
