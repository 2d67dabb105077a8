/** Requests that are repeated until there is a response that means something. */
import { type Failure, fail, quote, visible } from './errors.ts';
import type { Call, Done, Platform, Request, RequestOptions, Response } from './platform.ts';

export interface Reply {
  /** 0: no complete response. */
  readonly status: number;
  /** The members of a JSON object; none where the response is anything else. */
  readonly json: Readonly<Record<string, unknown>>;
  readonly isJson: boolean;
  /** How long it took. */
  readonly tookMs: number;
  /** For the app's developer. */
  readonly detail: string;
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
/** A proxy that says a day in `Retry-After` is asked again sooner. */
const LONGEST_RETRY_AFTER_MS = 60_000;
/** The clocks are looked at so often. Also, a process that was stopped has so long to read what waits in its socket. */
const TICK_MS = 1_000;
/** If one clock has moved by so much against the other, the device slept or its clock was set. */
const JUMP_MS = 2_000;
/** A captive portal answers everything with a page or a redirect, and so does a web server that is no relay. */
const MAX_PAGES = 3;
/**
 * Scheme, host and perhaps a port, which every parser reads in the same way. A user name and a
 * password would be a part of it that looks like the host. Not `URL`, which the engines of the
 * TV build need not have, and which has no `origin` in React Native.
 */
const ADDRESS = /^(https?):\/\/([^\s/?#@\\:[\]]+|\[[\da-f:.]+\])(:\d{1,5})?\//;

/** As a browser writes it, such as `https://api.example`. Undefined: a token is sent to no such URL. */
export function originOf(url: string): string | undefined {
  const [, scheme, host, port = ''] = ADDRESS.exec(url.toLowerCase()) || [];
  const usual = scheme === 'https' ? ':443' : ':80';
  return scheme && `${scheme}://${host}${port === usual ? '' : port}`;
}

/** Whether nobody on the way can read what is sent there: it is encrypted, or does not leave this device. */
export const isPrivate = (url: string): boolean =>
  /^https:|^http:\/\/(localhost|127\.[\d.]+|\[::1\])(:|$)/.test(originOf(url) || '');

/** Why no secret is sent there. Undefined: it may be. */
export function addressProblem(url: string, allowHttp: unknown): string | undefined {
  if (!originOf(url)) return 'must start with https:// or http://, then a host without a user name';
  return allowHttp || isPrivate(url) ? undefined : 'must start with https:// (see allowHttp)';
}

/**
 * Without `sessionEndMs` it is tried for a minute, otherwise until the session's end. Either
 * way once more after that: the device may have slept, and what failed was cut off by it.
 */
export function ask(
  call: Call,
  next: Request | (() => Request),
  take: Take,
  giveUp: (failure: Failure) => void,
  sessionEndMs?: number,
): void {
  const { platform, headers = {} } = call;
  const { now, date, later, random, send } = platform;
  const endMs = sessionEndMs || now() + TRY_MS;
  let pauseMs = FIRST_PAUSE_MS;
  let pages = 0;
  let skewMs = date() - now();
  let cancelTimer = () => {};
  let cancelRequest = () => {};
  call.abandon = () => {
    cancelTimer();
    cancelRequest();
  };

  function hasJumped(): boolean {
    const before = skewMs;
    skewMs = date() - now();
    return Math.abs(skewMs - before) > JUMP_MS;
  }

  /** If `isHasty`, a jump of the clock ends it. */
  function wait(delayMs: number, isHasty: boolean, run: () => void): void {
    const untilMs = now() + delayMs;
    const stepMs = Math.min(Math.max(delayMs, 0), TICK_MS);
    cancelTimer = later(stepMs, () => {
      const isJump = hasJumped() && isHasty;
      // By the timers too: there are engines whose `performance` is the clock that can be set.
      const leftMs = Math.min(untilMs - now(), delayMs - stepMs);
      if (isJump || leftMs <= 0) run();
      else wait(leftMs, isHasty, run);
    });
  }

  function again(): void {
    if (call.isStopped) return;
    const request = typeof next === 'function' ? next() : next;
    const { url, body, timeoutMs = Number(call.timeoutMs) || REQUEST_MS } = request;
    const problem = addressProblem(url, call.allowHttp);
    if (problem) {
      const shown = url
        .replace(/^[\s\S]*@/, '…@')
        .replace(/[?#][\s\S]*/, '')
        .slice(0, 99);
      giveUp(fail('refused', `${request.isProvider ? 'tokenUrl' : 'relay'} ${problem}: ${shown}`));
      return;
    }
    const askedAtMs = now();
    cancelRequest = send(request, headers, (response) => receive(request, response, askedAtMs));
    // A GET may be repeated. After a jump its connection is as good as dead.
    wait(timeoutMs, body === undefined, () => {
      cancelTimer = later(TICK_MS, () => {
        cancelRequest();
        const cause = Error(`no response within ${timeoutMs} ms`);
        receive(request, { status: 0, text: '', cause }, askedAtMs);
      });
    });
  }

  function receive(request: Request, response: Response, askedAtMs: number): void {
    cancelTimer();
    const { status, text, retryAfter, cause } = response;
    const isHtml = /^\s*</.test(text);
    const isRedirect = /^3/.test(`${status}`);
    const value = parse(text);
    const json = isObject(value) ? value : {};
    const detail = describe(request, response, isHtml ? 'a web page' : json.error);
    // The relay writes no HTML here: it is of a proxy or a captive portal, whatever its status.
    const isRefusal = /^(4(?!08|25|29)|301|308)/.test(`${status}`) && (isRedirect || !isHtml);
    const delayMs = take({
      status,
      detail,
      json,
      isJson: value !== undefined,
      refusal: isRefusal ? fail('refused', detail, cause) : undefined,
      tookMs: now() - askedAtMs,
    });
    if (call.isStopped) return;
    call.isTroubled = delayMs === AGAIN;
    call.onReply?.(call.isTroubled ? { isAnswered: !!status, detail } : undefined);
    if (delayMs === undefined) return;
    if (delayMs !== AGAIN) {
      pauseMs = FIRST_PAUSE_MS;
      wait(delayMs, true, again);
      return;
    }
    // A gateway that misses the relay has pages too (5xx), and the relay will be back.
    pages = isRedirect || (isHtml && !/^5(?!11)/.test(`${status}`)) ? pages + 1 : 0;
    if (askedAtMs >= endMs || (!sessionEndMs && pages === MAX_PAGES)) {
      giveUp(fail(status > 399 && !isHtml ? 'busy' : 'unreachable', detail, cause));
      return;
    }
    const leastMs = Math.min(Number(retryAfter) * 1_000 || 0, LONGEST_RETRY_AFTER_MS);
    wait(Math.max((pauseMs * (1 + random())) / 2, leastMs), true, again);
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
  }

  again();
}

/** One sentence. JSON may hold secrets, and so may half of it: of that, only what `said` is shown. */
function describe(request: Request, response: Response, said: unknown): string {
  const { status, text, location, cause } = response;
  const who = `The ${request.isProvider ? 'provider' : 'relay'}`;
  const { message, cause: inner } = Object(cause);
  if (!status) {
    return [`${who} did not answer`, message, Object(inner).message]
      .filter(Boolean)
      .map(quote)
      .join(': ');
  }
  const isPlain = status > 200 && !/^\s*[[{"]/.test(text);
  const place = visible(`${location || ''}`.replace(/[?#][\s\S]*/, '').slice(0, 99));
  const what = said || (isPlain && text);
  const shown = place ? `a redirect to ${place}` : what ? quote(what) : 'not what was expected';
  return `${who} answered ${status}: ${shown}`;
}

export const createCall = (
  platform: Platform,
  { headers, timeoutMs, allowHttp }: RequestOptions,
): Call => ({ platform, headers, timeoutMs, allowHttp });

/** Another call for the same app, which goes on when this one is stopped. */
export const another = (call: Call): Call => createCall(call.platform, call);

export function stop(call: Call): void {
  const { abandon, cancel } = call;
  call.isStopped = true;
  call.cancel = undefined;
  abandon?.();
  cancel?.();
}

/** For a `Take` that calls back. */
export function end<Value>(done: Done<Value>, failure: unknown, value?: Value): undefined {
  done(failure, value);
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  Object(value) === value && !Array.isArray(value);

/** Undefined: no JSON. */
export function parse(text: unknown): unknown {
  try {
    return JSON.parse(text as string);
  } catch {
    return undefined;
  }
}
