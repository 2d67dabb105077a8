/** One link at the relay: what the user is shown, and how its result is fetched, saved and acknowledged. */
import { AGAIN, another, ask, end, isObject, parse, type Reply } from './ask.ts';
import { type Countdown, createCountdown } from './countdown.ts';
import { fail, quote } from './errors.ts';
import type { Call, Done, Operation, RequestOptions } from './platform.ts';
import { addressOf, isText, type Place, requestTokens, type Tokens, tokensOf } from './tokens.ts';

/** A client of the app's own at a provider: the relay lends only its address (docs/open.md). */
export interface OpenClient {
  /** The authorization endpoint, with `scope` and what else the provider wants in the query. With a `state` in it, a callback with another one is refused. */
  readonly authorizationUrl: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly revocationUrl?: string | undefined;
  /**
   * The provider's issuer. Given: a callback that names another one is refused (RFC 9207). One
   * that names none is not, since not every provider does.
   */
  readonly issuer?: string | undefined;
}

export interface StartOptions extends Place, RequestOptions {
  /** Not given: `service` is one of the relay's. */
  readonly open?: OpenClient | undefined;
  /** What the device calls itself, for the user to see: up to 40 characters. */
  readonly device?: string | undefined;
  /** `false`: no user code, and a longer link that does not ask the user first. */
  readonly code?: boolean | undefined;
  /** `true`: the tokens come with `tokenType`, `scope` and `idToken` where the provider gives them. */
  readonly details?: boolean | undefined;
  /**
   * The device exchanges the code itself, so that the relay sees no token. Not given:
   * where the relay offers it, but not in a web page, which CORS may keep from it.
   * `true`: fail with `refused` rather than do without. `false`: only if the relay demands it.
   */
  readonly blind?: boolean | undefined;
  /** The provider's token endpoint, if the app knows it: then a code, its verifier and the tokens of a blind sign-in are sent nowhere else. */
  readonly tokenUrl?: string | undefined;
}

/** The token endpoint that the app names, if it does. */
export const ownTokenUrl = ({ tokenUrl, open }: StartOptions): string | undefined =>
  tokenUrl || open?.tokenUrl;

/** What the app shows until the user has signed in. */
export interface Prompt {
  /** The user opens or scans it. */
  readonly link: string;
  /** To type at `verificationUrl`. Undefined if none was asked for, or the relay has none. */
  readonly userCode: string | undefined;
  readonly verificationUrl: string | undefined;
  /** The address of a PNG of the link as a QR code, drawn by the relay. `.svg` instead of `.png` is an SVG. Undefined if no code was asked for. */
  readonly qr: string | undefined;
  /** Seconds from the start until the link expires. */
  readonly expiresIn: number;
  /** For a countdown: never more than what is left, whatever happens to the clock. */
  secondsLeft(): number;
}

/** A sign-in that was started. Its secrets are in `state` alone, so that nobody logs them with the prompt. */
export interface Link {
  readonly prompt: Prompt;
  /** For `resume` in another process. */
  readonly state: string;
  /** Waits until the sign-in ends, or the link does. */
  readonly poll: Operation<PollOptions, Tokens>;
  /** Ends the session at the relay, so that its link says so. Whether the relay hears of it makes no difference to the app. */
  readonly cancel: Operation<object, void>;
}

export interface PollOptions {
  /** Until it has saved them, the relay is not told that the tokens arrived, and keeps them for a minute. */
  readonly save: (tokens: Tokens, done: Done<Tokens>) => void;
  /** The user has opened the link. Older relays do not tell. */
  readonly onOpened: () => void;
}

/** Shorter than the relay's 50 s: some proxies cut after 30 s, and a dead connection is noticed sooner. */
const WAIT_SECONDS = 25;
/** A dead connection is noticed so long after a poll should have ended. */
const LATENCY_MS = 10_000;
/** A relay that restarts answers polls at once. */
const POLL_GAP_MS = 2_000;
/** A relay that says for so long after the end of a session that it is pending is broken. */
const PATIENCE_MS = 3_600_000;
/** A relay without `wait` holds a poll for 50 s. */
const LONG_POLL_MS = 65_000;
/** A relay's secrets are much shorter. */
const MAX_SECRET = 512;
/**
 * It is opened in a browser, where other schemes run scripts or start apps, and people read
 * its host, which a user name before it would look like.
 */
const LINK = /^https?:\/\/(?!:|[^\s/?#\\]*@)[!-~]{1,2048}$/i;
/** What a relay reports of the provider, apart from `authorization_failed` (docs/protocol.md §3). */
const REPORTED = /^(access_denied|missing_code|exchange_failed)$/;
const SHORT_LINK = /\/L\/[^/]*$/;
/** 20 consonants, as the relay draws them. */
const USER_CODE = /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/;
/** What a relay allows for SESSION_SECONDS. */
const MAX_EXPIRES_IN_SECONDS = 86_400;
export const textsOf = (list: unknown): string[] =>
  Array.isArray(list) ? list.filter(isText) : [];

interface Started {
  readonly session: string;
  readonly link: string;
  readonly userCode: string | undefined;
  readonly qr: string | undefined;
  readonly expiresIn: number;
}

/** What another process needs to go on with a session. */
interface State extends Place {
  readonly started: Started;
  readonly extensions: readonly string[];
  readonly verifier: string | undefined;
  /** A time of the clock that people see: no other is the same in two processes. */
  readonly startedAtMs: number;
}

/** Undefined: this is not of a relay. */
export function startedOf(json: Reply['json']): Started | undefined {
  const { session, url, link = url, userCode, qr, expiresIn } = json;
  const isGood =
    isText(session) &&
    session.length <= MAX_SECRET &&
    isText(link) &&
    LINK.test(link) &&
    typeof expiresIn === 'number' &&
    expiresIn > 0 &&
    expiresIn <= MAX_EXPIRES_IN_SECONDS;
  if (!isGood) return undefined;
  const isTyped = isText(userCode) && USER_CODE.test(userCode) && SHORT_LINK.test(link);
  return {
    session,
    link,
    userCode: isTyped ? userCode : undefined,
    qr: isText(qr) && LINK.test(qr) ? qr : undefined,
    expiresIn,
  };
}

/** Undefined: of another relay or service, or damaged. */
export function resume(call: Call, options: StartOptions, text: string): Link | undefined {
  const state = Object(parse(text));
  const { relay, service, extensions, verifier, startedAtMs } = state;
  const started = isObject(state.started) && startedOf(state.started);
  const isOurs = relay === addressOf(options.relay) && service === options.service;
  const isBlind = isText(verifier);
  if (!started || !isOurs || typeof startedAtMs !== 'number') return undefined;
  if (options.blind && !isBlind) return undefined;
  return linkOf(call, options, {
    relay,
    service,
    started,
    startedAtMs,
    extensions: textsOf(extensions),
    verifier: isBlind ? verifier : undefined,
  });
}

/** A session and what is known of it. */
interface Context {
  readonly options: StartOptions;
  readonly state: State;
  readonly countdown: Countdown;
  readonly resultUrl: string;
}

const offers = ({ state }: Context, name: string) => state.extensions.indexOf(name) >= 0;

export function linkOf({ platform }: Call, options: StartOptions, state: State): Link {
  const { started, startedAtMs } = state;
  const { session, link, userCode, qr, expiresIn } = started;
  const countdown = createCountdown(platform, expiresIn * 1_000, startedAtMs);
  const resultUrl = `${addressOf(options.relay)}/auth/result?session=${encodeURIComponent(session)}`;
  const context = { options, state, countdown, resultUrl };
  return {
    prompt: {
      link,
      userCode,
      verificationUrl: userCode && link.replace(SHORT_LINK, '/link'),
      qr,
      expiresIn,
      secondsLeft: () => Math.floor(countdown.leftMs() / 1_000),
    },
    state: JSON.stringify(state),
    poll: (call, polling, done) => poll(context, call, polling, done),
    cancel(call, _options, done) {
      if (offers(context, 'cancel')) tell(context, 'cancel', call, done);
      else done(undefined);
    },
  };
}

/** Acknowledges, or cancels. Whether the relay hears of it makes no difference. */
function tell({ resultUrl }: Context, what: string, call: Call, done: Done<void>): void {
  ask(
    call,
    { url: `${resultUrl}&${what}=1` },
    ({ status, refusal }) => (status === 204 || refusal ? end(done, undefined) : AGAIN),
    () => done(undefined),
  );
}

function poll(context: Context, call: Call, polling: PollOptions, done: Done<Tokens>): void {
  const { countdown, resultUrl } = context;
  const { endMs, leftMs, restMs } = countdown;
  const { now } = call.platform;
  const hasWait = offers(context, 'wait');
  const progress = offers(context, 'progress') ? '&progress=1' : '';
  let wasOpened = false;
  let askedSkewMs = 0;

  function next() {
    askedSkewMs = countdown.skew();
    // After trouble a short one, so that the app soon hears that it is over.
    const mostSeconds = call.isTroubled ? 1 : WAIT_SECONDS;
    const seconds = Math.max(Math.min(Math.floor(leftMs() / 1_000), mostSeconds), 1);
    const wait = hasWait ? `&wait=${seconds}` : '';
    const timeoutMs = hasWait ? seconds * 1_000 + LATENCY_MS : LONG_POLL_MS;
    return { url: resultUrl + wait + progress, timeoutMs };
  }

  function take(reply: Reply) {
    const { status, json, refusal, detail, tookMs } = reply;
    // Negative after a poll that was held: at once.
    const gapMs = POLL_GAP_MS - tookMs;
    if (status === 204) {
      countdown.confirm(askedSkewMs);
      // With nothing left at the start, nobody was shown the link.
      if (restMs && now() < endMs + PATIENCE_MS) return gapMs;
      return end(done, fail('expired', 'The time of the link has passed'));
    }
    // Other refusals are of a proxy: the relay has no more than these for a poll.
    if (status === 410 && refusal) return end(done, fail('expired', detail));
    if (refusal && /400|405/.test(`${status}`)) return end(done, refusal);
    if (status !== 200) return AGAIN;
    if (!json.progress) return takeResult(context, call, polling, reply, done);
    if (wasOpened) return gapMs;
    wasOpened = true;
    polling.onOpened();
    return 0;
  }

  ask(call, next, take, ({ detail, cause }) => done(fail('expired', detail, cause)), endMs);
}

function takeResult(
  context: Context,
  call: Call,
  polling: PollOptions,
  { json, isJson }: Reply,
  done: Done<Tokens>,
): typeof AGAIN | undefined {
  const { error } = json;
  if (error) {
    tell(context, 'ack', another(call), () => {});
    const code = isText(error) && REPORTED.test(error) ? error : 'authorization_failed';
    return end(done, fail(code as 'access_denied', `The sign-in ended with ${quote(error)}`));
  }
  /** Only when the app has the tokens, the relay may forget them. */
  const deliver = (tokens: Tokens) =>
    polling.save(tokens, (failure) => {
      if (!failure) tell(context, 'ack', another(call), () => {});
      done(failure, failure ? undefined : tokens);
    });
  if (context.state.verifier) {
    if (!isJson) return AGAIN;
    exchange(context, call, json, deliver, done);
    return undefined;
  }
  const tokens = tokensOf(json);
  if (!tokens) return AGAIN;
  deliver(tokens);
  return undefined;
}

/** What does not fit to the app's own issuer and state, where it has them. */
function callbackProblem(open: OpenClient, iss: unknown, state: unknown): string | undefined {
  const { authorizationUrl, issuer } = open;
  // Providers that do not know RFC 9207 send no `iss`.
  if (issuer && iss !== undefined && iss !== issuer) {
    return 'The callback came from another provider';
  }
  const [, own] = /[?&]state=([^&]*)/.exec(authorizationUrl) || [];
  if (own !== undefined && state !== decoded(own)) return 'The callback is of another sign-in';
  return undefined;
}

/** A value of a query, as `URLSearchParams` reads it, which old engines do not have. */
function decoded(value: string): string {
  try {
    return decodeURIComponent(value.replace(/\+/g, ' '));
  } catch {
    return value;
  }
}

/** In a blind sign-in the result is a code, which this device exchanges. A relay that has tokens has seen them. */
function exchange(
  { options, state }: Context,
  call: Call,
  json: Reply['json'],
  deliver: (tokens: Tokens) => void,
  done: Done<Tokens>,
): void {
  const { open } = options;
  // Whoever completes an open sign-in writes the callback. All that the app knows comes from the app.
  const { code, iss, state: returned } = Object(open ? json.callback : json);
  const { clientId, revocationUrl } = open || json;
  const problem = open && callbackProblem(open, iss, returned);
  if (problem) {
    done(fail('refused', problem));
    return;
  }
  const named = ownTokenUrl(options);
  const tokenUrl = named || json.tokenUrl;
  const own = `${addressOf(options.relay)}/`;
  const isOther = isText(tokenUrl) && (named || tokenUrl.indexOf(own));
  if (!isText(code) || !isOther || !isText(clientId)) {
    done(fail('refused', 'The relay sent tokens, no code, or itself for a blind sign-in'));
    return;
  }
  const form = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: json.redirectUri,
    client_id: clientId,
    code_verifier: state.verifier,
  };
  const before = { tokenUrl, clientId, revocationUrl };
  requestTokens(call, tokenUrl, form, before, (failure, tokens) => {
    const { detail, cause } = Object(failure);
    if (tokens) deliver(tokens);
    else done(fail('exchange_failed', detail, cause));
  });
}
