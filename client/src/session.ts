/** One sign-in at the relay: what it needs to be told, and how its result is fetched, delivered and acknowledged. */
import { AGAIN, another, ask, end, isObject, parse, type Reply, stop } from './ask.ts';
import { fail, quote } from './errors.ts';
import { attempt, type Call, type Done, type Operation, type RequestOptions } from './platform.ts';
import { createQr, type Qr } from './qr.ts';
import {
  addressOf,
  isText,
  type Place,
  requestTokens,
  store,
  type Tokens,
  tokensOf,
} from './tokens.ts';

export interface StartOptions extends Place, RequestOptions {
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
  /** The provider's token endpoint, if the app knows it: then a code and its verifier are sent nowhere else. */
  readonly tokenUrl?: string | undefined;
}

/** What the app shows until the user has signed in. */
export interface Prompt {
  /** To open or to scan. */
  readonly link: string;
  /** To type at `verificationUrl`. Undefined if none was asked for, or the relay has none. */
  readonly userCode: string | undefined;
  readonly verificationUrl: string | undefined;
  /** The link as a QR code. Undefined for a link of more than 106 characters. */
  readonly qr: Qr | undefined;
  /** Seconds from the start until the link expires. */
  readonly expiresIn: number;
  /** For a countdown: never more than what is left, whatever happens to the clock. */
  secondsLeft(): number;
}

/** A sign-in that was started. Its secrets are in `state` alone, so that nobody logs them with the prompt. */
export interface Session {
  readonly prompt: Prompt;
  readonly state: string;
  /** Waits until the sign-in ends, or the session does. */
  readonly poll: Operation<PollOptions, Tokens>;
  /** Ends the session at the relay, so that its link says so. Whether the relay hears of it makes no difference to the app. */
  readonly cancel: Operation<object, void>;
}

export interface PollOptions {
  /**
   * Stores the tokens. Until it has, the relay is not told that they arrived, and keeps them for
   * a minute. One that fails is called again, four times in all; then the sign-in fails with
   * `not_saved`, and the failure has the tokens.
   */
  readonly save: (tokens: Tokens) => unknown;
  /** The user has opened the link: 'Continue on your phone'. Older relays do not tell. */
  readonly onOpened?: (() => unknown) | undefined;
}

/** Shorter than the relay's 50 s: some proxies cut after 30 s, and a dead connection is noticed sooner. */
const WAIT_SECONDS = 25;
/** A dead connection is noticed so long after a poll should have ended. */
const LATENCY_MS = 10_000;
/** A relay that restarts answers polls at once. */
const POLL_GAP_MS = 2_000;
/** For a result whose response was lost at the very end. */
const GRACE_MS = 10_000;
/** A relay that says for so long after the end of a session that it is pending is broken. */
const PATIENCE_MS = 3_600_000;
/** A relay without `wait` holds a poll for 50 s. */
const LONG_POLL_MS = 65_000;
/** As long as a relay's, and much longer. */
const MAX_SECRET = 512;
/** It is opened in a browser, where other schemes run scripts or start apps. */
const LINK = /^https?:\/\/[!-~]{1,2048}$/i;
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
  readonly expiresIn: number;
}

/** What another process needs to go on with a session. */
interface State extends Place {
  readonly started: Started;
  readonly extensions: readonly string[];
  readonly verifier: string | undefined;
  /** By the clock that people see: no other is the same in two processes. */
  readonly startedAtMs: number;
}

/** Undefined: this is not of a relay. */
export function startedOf(json: Reply['json']): Started | undefined {
  const { session, url, link = url, userCode, expiresIn } = json;
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
  return { session, link, userCode: isTyped ? userCode : undefined, expiresIn };
}

/** Undefined: of another relay or service, or damaged. */
export function resume(call: Call, options: StartOptions, text: string): Session | undefined {
  const state = Object(parse(text));
  const { relay, service, extensions, verifier, startedAtMs } = state;
  const started = isObject(state.started) && startedOf(state.started);
  const isOurs = relay === addressOf(options.relay) && service === options.service;
  const isBlind = isText(verifier);
  if (!started || !isOurs || typeof startedAtMs !== 'number') return undefined;
  if (options.blind && !isBlind) return undefined;
  return sessionOf(call, options, {
    relay,
    service,
    started,
    startedAtMs,
    extensions: textsOf(extensions),
    verifier: isBlind ? verifier : undefined,
  });
}

/** How much of a session is left, by clocks of which one stops while the device sleeps and the other may be set. */
function createCountdown(
  { now, date }: Call['platform'],
  expiresInMs: number,
  startedAtMs: number,
) {
  const skew = () => date() - now();
  const sinceMs = now();
  let skewMs = skew();
  const ageMs = date() - startedAtMs;
  // Before it started: the clock was set, and nobody knows how old it is.
  const restMs = ageMs < 0 ? 0 : Math.max(expiresInMs - ageMs, 0);

  function leftMs(atSkewMs = skew()): number {
    skewMs = Math.min(skewMs, atSkewMs);
    return Math.max(restMs - (now() - sinceMs) - (atSkewMs - skewMs), 0);
  }

  return {
    skew,
    leftMs,
    restMs,
    endMs: sinceMs + restMs + GRACE_MS,
    /** If by the clocks a session has expired that lives, the device did not sleep: its clock was set. */
    isAlive(askedSkewMs: number) {
      if (!leftMs(askedSkewMs)) skewMs = askedSkewMs;
    },
  };
}

export function sessionOf(base: Call, options: StartOptions, state: State): Session {
  const { platform } = base;
  const { now } = platform;
  const { started, extensions, verifier, startedAtMs } = state;
  const { session, link, userCode, expiresIn } = started;
  const countdown = createCountdown(platform, expiresIn * 1_000, startedAtMs);
  const { endMs, leftMs, restMs } = countdown;
  const resultUrl = `${addressOf(options.relay)}/auth/result?session=${encodeURIComponent(session)}`;
  const offers = (name: string) => extensions.indexOf(name) >= 0;
  const canWait = offers('wait');

  const tell = (what: string, call: Call, done: Done<void>) =>
    ask(
      call,
      { url: `${resultUrl}&${what}=1` },
      ({ status, refusal }) => (status === 204 || refusal ? end(done, undefined) : AGAIN),
      () => done(undefined),
    );

  /** Only when the app has the tokens, the relay may forget them. */
  const deliver = (call: Call, { save }: PollOptions, tokens: Tokens, done: Done<Tokens>) =>
    store(call, save, tokens, (failure) => {
      if (failure) return done(failure);
      tell('ack', another(call), () => {});
      done(undefined, tokens);
    });

  /** In a blind sign-in the result is a code, which this device exchanges. False: this is none. */
  function exchange(call: Call, polling: PollOptions, json: Reply['json'], done: Done<Tokens>) {
    const { code, clientId, redirectUri } = json;
    const tokenUrl = options.tokenUrl || json.tokenUrl;
    if (!isText(code) || !isText(tokenUrl) || !isText(clientId)) return false;
    const form = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      client_id: clientId,
      code_verifier: verifier,
    };
    requestTokens(call, tokenUrl, form, { tokenUrl, clientId }, (failure, tokens) => {
      const { detail, cause } = Object(failure);
      if (tokens) deliver(call, polling, tokens, done);
      else done(fail('exchange_failed', detail, cause));
    });
    return true;
  }

  return {
    prompt: {
      link,
      userCode,
      verificationUrl: userCode && link.replace(SHORT_LINK, '/link'),
      qr: createQr(link),
      expiresIn,
      secondsLeft: () => Math.floor(leftMs() / 1_000),
    },
    state: JSON.stringify(state),

    poll(call, polling, done) {
      let wasOpened = false;
      let askedSkewMs = 0;

      function next() {
        askedSkewMs = countdown.skew();
        const seconds = Math.max(Math.min(Math.floor(leftMs() / 1_000), WAIT_SECONDS), 1);
        const url = resultUrl + (canWait ? `&wait=${seconds}` : '');
        return {
          url: url + (offers('progress') ? '&progress=1' : ''),
          timeoutMs: canWait ? seconds * 1_000 + LATENCY_MS : LONG_POLL_MS,
        };
      }

      function take({ status, json, isJson, refusal, detail, tookMs }: Reply) {
        // Negative after a poll that was held: at once.
        const gapMs = POLL_GAP_MS - tookMs;
        if (status === 204) {
          countdown.isAlive(askedSkewMs);
          // With nothing left at the start, nobody was shown the link.
          if (restMs && now() < endMs + PATIENCE_MS) return gapMs;
          return end(done, fail('expired', 'The time of the link has passed'));
        }
        // Other refusals are of a proxy: the relay has no more than these for a poll.
        if (status === 410 && refusal) return end(done, fail('expired', detail));
        if (refusal && /400|405/.test(`${status}`)) return end(done, refusal);
        if (status !== 200) return AGAIN;
        const { progress, error } = json;
        if (progress) {
          if (wasOpened) return gapMs;
          wasOpened = true;
          const { onOpened } = polling;
          if (onOpened) {
            attempt(onOpened, (failure) => {
              if (!failure || call.isStopped) return;
              stop(call);
              done(failure);
            });
          }
          return 0;
        }
        if (error) {
          tell('ack', another(call), () => {});
          const known =
            isText(error) && /^(access_denied|missing_code|exchange_failed)$/.test(error);
          const code = known ? (error as 'access_denied') : 'authorization_failed';
          return end(done, fail(code, `The sign-in ended with ${quote(error)}`));
        }
        if (!verifier) {
          const tokens = tokensOf(json);
          if (!tokens) return AGAIN;
          deliver(call, polling, tokens, done);
        } else if (!isJson) {
          return AGAIN;
        } else if (!exchange(call, polling, json, done)) {
          done(fail('refused', 'The relay sent tokens, or no code, in a blind sign-in'));
        }
        return undefined;
      }

      ask(call, next, take, ({ detail, cause }) => done(fail('expired', detail, cause)), endMs);
    },

    cancel(call, _options, done) {
      if (offers('cancel')) tell('cancel', call, done);
      else done(undefined);
    },
  };
}
