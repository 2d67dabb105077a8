/** Sends requests to the relay or a provider, repeats those without a usable response, and says where a secret may be sent. */
import { attempt, quote, SignInError, visible } from './errors.ts';
import type { Headers, Platform, Request, RequestOptions, Response } from './platform.ts';

/** The members of a JSON object or a form, which may have any type. */
export type Members = Record<string, unknown>;

export interface Reply {
  /** 0: no complete response. */
  readonly status: number;
  /** Of the response. If that is no JSON object, none that is read. */
  readonly json: Readonly<Members>;
  readonly isJson: boolean;
  /** By the monotonic clock, and by the wall clock. */
  readonly tookMs: number;
  readonly wallMs: number;
  readonly detail: string;
  /** Present if the same request would be refused again. */
  readonly refusal: SignInError | undefined;
}

/** Requests of one purpose, one after the other, which are stopped together. */
export interface Call<Options extends RequestOptions = RequestOptions> {
  readonly platform: Platform;
  readonly options: Options;
  isStopped?: boolean;
  /** Called after each reply. `failure`: why the request is repeated. */
  onReply?: (failure: string | undefined) => void;
  /** Abandons the current request or pause. */
  abandon?: () => void;
}

const FORM: Headers = {
  Accept: 'application/json',
  'Content-Type': 'application/x-www-form-urlencoded',
};
/** A relay may wait 15 s for the provider. */
const REQUEST_MS = 17_000;
/** How long a request without a session is repeated. One with a session is repeated until the session ends. */
const TRY_MS = 60_000;
/** Backoff with jitter: half of a pause is random, so that devices do not all return at once. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 8_000;
/** The longest `Retry-After` that is obeyed: some proxies say a day. */
const LONGEST_RETRY_AFTER_MS = 60_000;
/** How often the clocks are compared, and how long after a pause of the process its sockets are read before a timeout applies. */
const TICK_MS = 1_000;
/** If the clocks drift apart by more than this, the device slept or its clock was set. */
const JUMP_MS = 2_000;
/** This many pages or redirects in a row mean a captive portal, or a web server that is not a relay. */
const MAX_PAGES = 3;
const HTML = /^\s*</;
/** Matches no user name, which may look like a host. `URL` is missing on old TVs, and has no `origin` in React Native. */
const ADDRESS = /^(https?):\/\/([^\s/?#@\\:[\]]+|\[[\da-f:.]+\])(:\d{1,5})?\//;

/** The origin as a browser writes it, such as `https://api.example`. Undefined if no token may be sent to the URL. */
export function originOf(url: string): string | undefined {
  const [, scheme, host, port] = ADDRESS.exec(url.toLowerCase()) || [];
  const usual = scheme === 'https' ? ':443' : ':80';
  return scheme && `${scheme}://${host}${port && port !== usual ? port : ''}`;
}

/** True if a request to it is encrypted, or does not leave this device. */
export const isPrivate = (url: string): boolean =>
  /^https:|^http:\/\/(localhost|127\.[\d.]+|\[::1\])(:|$)/.test(originOf(url) || '');

/** Undefined if a secret may be sent there. */
export function addressProblem(url: string, allowHttp: unknown): string | undefined {
  if (!originOf(url)) return 'needs https:// or http://, and no user name';
  return allowHttp || isPrivate(url) ? undefined : 'needs https:// (see allowHttp)';
}

/** The part of a URL that a developer may see: no user name, and no query, which has secrets. */
const shownUrl = (url: string): string =>
  visible(url.replace(/^[\s\S]*@/, '…@').replace(/[?#][\s\S]*/, '')).slice(0, 99);

export function stop(call: Call): void {
  call.isStopped = true;
  call.abandon?.();
}

/**
 * Repeats a request until `read` returns a value, or throws. With `sessionEndMs` it tries until that
 * time, and once more, because the device may have slept during the last try. Otherwise it tries for
 * a minute, and a refusal or unexpected JSON ends it.
 */
export async function ask<Value>(
  call: Call,
  next: Request | ((isRepeated: boolean) => Request),
  read: (reply: Reply) => Value | undefined,
  sessionEndMs?: number,
): Promise<Value> {
  const { now, date, random, origin } = call.platform;
  const endMs = sessionEndMs || now() + TRY_MS;
  let pauseMs = FIRST_PAUSE_MS;
  let pages = 0;
  for (;;) {
    const request = typeof next === 'function' ? next(pauseMs > FIRST_PAUSE_MS) : next;
    const askedAtMs = now();
    const askedDateMs = date();
    const response = await send(call, request);
    const { status, text, cause } = response;
    const isHtml = HTML.test(text);
    const isRedirect = /^3/.test(`${status}`);
    const parsed = parse(text);
    const json: Members = Object(parsed);
    const words = describe(request, response, json.error, origin);
    const detail = `${words} (${shownUrl(request.url)})`;
    // The relay sends no HTML here: it comes from a proxy or a captive portal, whatever its status.
    const isRefusal = /^(4(?!08|25|29)|301|308)/.test(`${status}`) && (isRedirect || !isHtml);
    const isJson = parsed !== undefined;
    const refusal = isRefusal ? new SignInError('refused', detail, cause) : undefined;
    const tookMs = now() - askedAtMs;
    const wallMs = date() - askedDateMs;
    const value = read({ status, detail, json, isJson, refusal, tookMs, wallMs });
    if (value !== undefined) {
      call.onReply?.(undefined);
      return value;
    }
    const isFinal = !sessionEndMs && (isRefusal || (status === 200 && isJson));
    // A gateway that cannot reach the relay sends pages too (5xx), and the relay will be back.
    pages = isRedirect || (isHtml && !/^5(?!11)/.test(`${status}`)) ? pages + 1 : 0;
    if (isFinal || askedAtMs >= endMs || (!sessionEndMs && pages === MAX_PAGES)) {
      const code = status > 399 && !isHtml ? 'busy' : 'unreachable';
      throw new SignInError(isFinal ? 'refused' : sessionEndMs ? 'expired' : code, detail, cause);
    }
    call.onReply?.(detail);
    const leastMs = Math.min(Number(response.retryAfter) * 1_000 || 0, LONGEST_RETRY_AFTER_MS);
    await pause(call, Math.max((pauseMs * (1 + random())) / 2, leastMs));
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
  }
}

/** A pause that ends early if the clock jumps. */
export const pause = (call: Call, delayMs: number): Promise<void> =>
  new Promise((resolve) => {
    call.abandon = wait(call.platform, delayMs, true, resolve);
  });

/** Calls `run` after the delay, or if `endsOnJump` already when the clock jumps. Returns a function that cancels it. */
function wait(
  { now, date, later }: Platform,
  delayMs: number,
  endsOnJump: boolean,
  run: () => void,
): () => void {
  const untilMs = now() + delayMs;
  let skewMs = date() - now();
  let cancelTimer: () => void;
  function step(leftMs: number): void {
    const stepMs = Math.min(Math.max(leftMs, 0), TICK_MS);
    cancelTimer = later(stepMs, () => {
      const before = skewMs;
      skewMs = date() - now();
      const isJump = Math.abs(skewMs - before) > JUMP_MS;
      // Timers count too: in some engines `performance` follows the clock that users set.
      const restMs = Math.min(untilMs - now(), leftMs - stepMs);
      if ((endsOnJump && isJump) || restMs <= 0) run();
      else step(restMs);
    });
  }
  step(delayMs);
  return () => cancelTimer();
}

/** Never rejects because of the network, and never settles once the call is stopped. */
const send = (call: Call, request: Request): Promise<Response> =>
  new Promise((resolve) => {
    const { platform, options } = call;
    const { url, body, isProvider } = request;
    const timeoutMs = request.timeoutMs || Number(options.timeoutMs) || REQUEST_MS;
    const problem = addressProblem(url, options.allowHttp);
    if (problem) {
      const what = isProvider ? 'tokenUrl' : 'relay';
      throw new SignInError('refused', `${what} ${problem}: ${shownUrl(url)}`);
    }
    if (call.isStopped) return;
    const end = (received: Response) => {
      cancelTimer();
      resolve(received);
    };
    const headers = isProvider ? FORM : options.headers || {};
    const cancelRequest = platform.send(request, headers, end);
    // A GET may be repeated. After a jump of the clock its connection is probably dead.
    let cancelTimer = wait(platform, timeoutMs, body === undefined, () => {
      cancelTimer = platform.later(TICK_MS, () => {
        cancelRequest();
        end({ status: 0, text: '', cause: Error(`no answer within ${timeoutMs} ms`) });
      });
    });
    call.abandon = () => {
      cancelTimer();
      cancelRequest();
    };
  });

/** Describes a response that was not expected. A JSON body, even a truncated one, may contain secrets, so only its `error` is shown. */
function describe(request: Request, response: Response, error: unknown, origin?: string): string {
  const { url, isProvider } = request;
  const { status, text, location, cause } = response;
  const who = isProvider ? 'The provider' : 'The relay';
  if (!status) {
    const isElsewhere = origin && !isProvider && originOf(url) !== origin;
    const cors = isElsewhere ? `, or its CORS_ORIGINS does not have ${origin}` : '';
    const reasons = [Object(cause).message, Object(Object(cause).cause).message];
    return [`${who} did not answer${cors}`].concat(reasons.filter(Boolean).map(quote)).join(': ');
  }
  if (location) return `${who} answered ${status}: a redirect to ${shownUrl(location)}`;
  if (HTML.test(text)) return `A website or a proxy answered ${status}: a web page`;
  const what = error || (status > 200 && !/^\s*[[{"]/.test(text) && text);
  const words = what ? quote(what) : 'not what was expected';
  return `${status === 404 ? 'The path is wrong: ' : ''}${who} answered ${status}: ${words}`;
}

/** Undefined if it is not JSON. */
export const parse = (text: unknown): unknown => attempt(() => JSON.parse(text as string));
