/** Repeats a request until there is a usable response. */
import { type Failure, fail } from './errors.ts';
import type { Call, Request } from './platform.ts';

export interface Reply {
  /** 0: no complete response. */
  readonly status: number;
  /** The members of a JSON object; none of any other response. */
  readonly json: Readonly<Record<string, unknown>>;
  /** How long it took. */
  readonly tookMs: number;
  /** Present if the same request would be refused again. */
  readonly refusal: Failure | undefined;
}

/** Not a response of a relay, or a temporary one: repeat the request, after a pause that grows each time. */
export const AGAIN = null;

/** Handles a response. Returns the milliseconds until the next request, `AGAIN`, or undefined if this was the last. */
export type Take = (reply: Reply) => number | typeof AGAIN | undefined;

/** A relay may wait 15 s for the provider. */
const REQUEST_MS = 17_000;
/** How long a request without a session is tried. */
const TRY_MS = 60_000;
/** Half of a pause is random, so that devices that failed together do not retry together. */
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
      // The relay sends no HTML here: a proxy or a captive portal does, with any status.
      const isHtml = /^\s*</.test(text);
      // A response with status 200 may contain secrets.
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
