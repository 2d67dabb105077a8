/** A sign-in by the relay's own protocol and its extensions. */
import { AGAIN, ask, stop } from './ask.ts';
import { type Failure, fail, isCode } from './errors.ts';
import type { Call, Done, Operation } from './platform.ts';
import { createQr, type Qr } from './qr.ts';
import { baseUrlOf, type Place, requestTokens, type Tokens, tokensOf } from './tokens.ts';

export interface StartOptions extends Place {
  /** Name of the device, which the user sees: up to 40 characters. */
  readonly device?: string | undefined;
  /** `false`: no user code, and a longer link without a confirmation page. */
  readonly code?: boolean | undefined;
  /** `true`: the tokens have `tokenType`, `scope` and `idToken`, if the provider gives them. */
  readonly details?: boolean | undefined;
  /**
   * The device exchanges the code itself, so that the relay sees no token. Absent: if the
   * relay offers it, but not in a web page, where CORS may prevent it. `true`: otherwise fail
   * with `refused`. `false`: only if the relay requires it.
   */
  readonly blind?: boolean | undefined;
  /** The provider's token endpoint, if the app knows it: a code and its verifier are sent only there. */
  readonly tokenUrl?: string | undefined;
}

export interface Service {
  readonly service: string;
  /** For users. */
  readonly name: string;
  /** Whether the device may, or must, exchange the code itself. */
  readonly blind: 'no' | 'can' | 'must';
}

/** What a relay offers. Empty for an older one. */
export interface Offer {
  readonly services: readonly Service[];
  readonly extensions: readonly string[];
}

/** What the app shows until the user has signed in. */
export interface Prompt {
  /** To open or to scan. */
  readonly link: string;
  /** To type at `verificationUrl`. Undefined with `code: false`, or if the relay has none. */
  readonly userCode: string | undefined;
  readonly verificationUrl: string | undefined;
  /** The link as a QR code. Undefined for a link of more than 106 characters. */
  readonly qr: Qr | undefined;
  /** Seconds from the start until the link expires. */
  readonly expiresIn: number;
}

/** A sign-in that was started. Does not contain its secrets, so that no app logs them. */
export interface Session {
  readonly prompt: Prompt;
  /** Waits until the sign-in ends, or the session does. */
  readonly poll: Operation<PollOptions, Tokens>;
  /** Ends the session and its link at the relay. Succeeds even if the relay cannot be reached. */
  readonly cancel: Operation<object, void>;
}

export interface PollOptions {
  /** The user has opened the link: 'Continue on your phone'. Older relays do not report it. */
  readonly onOpened?: (() => void) | undefined;
}

export interface SignInOptions extends StartOptions, PollOptions {
  /** Shows the prompt. Called again with a new one when the link has expired. */
  readonly onPrompt: (prompt: Prompt) => void;
  /** `false`: fail with `expired` when the link expires. */
  readonly renew?: boolean | undefined;
}

/** Shorter than the relay's 50 s: some proxies cut after 30 s, and a half-open connection is noticed sooner. */
const WAIT_SECONDS = 25;
const WAIT_MS = 35_000;
/** A relay without `wait` holds a poll for 50 s. */
const LONG_POLL_MS = 65_000;
/** A relay that restarts answers polls at once. */
const POLL_GAP_MS = 2_000;
/** For a result whose response was lost at the very end. */
const GRACE_MS = 10_000;
/** A session that expires so soon is unknown to the instance that was polled. Another start would not help. */
const LOST_MS = 5_000;

export const discover: Operation<Pick<Place, 'relay'>, Offer> = (call, { relay }, done) =>
  ask(
    call,
    { url: `${baseUrlOf(relay)}/services` },
    ({ status, json: { services, extensions = [] }, refusal }) => {
      // 404: an older relay, or a proxy that passes on only /auth/.
      if (status === 200 ? !services : status !== 404 && !refusal) return AGAIN;
      done(undefined, { services: services || [], extensions } as Offer);
      return undefined;
    },
    done,
  );

export const start: Operation<StartOptions, Session> = (call, options, done) => {
  const { service, device, code, details } = options;
  const { platform } = call;
  const { challenge } = platform;
  const relay = baseUrlOf(options.relay);

  discover(call, options, (failure, offer) => {
    if (!offer) return done(failure);
    const { services, extensions } = offer;
    const blind = services.filter((each) => each.service === service)[0]?.blind;
    const isOffered = blind === 'can' || blind === 'must';
    const isWanted = options.blind ?? (isOffered && !platform.isPage && !!challenge);
    if (!isWanted && blind !== 'must') request();
    else if (isOffered && challenge) challenge(request);
    else done(fail('refused', 'blind'));

    function request(verifier?: string, asked?: string): void {
      const body = JSON.stringify({
        service,
        code: code !== false,
        ack: true,
        device: device?.slice(0, 40),
        details,
        challenge: asked,
      });
      ask(
        call,
        { url: `${relay}/auth/start`, body },
        ({ status, json, refusal }) => {
          if (refusal) done(refusal);
          else if (status === 200 && json.session && json.url) {
            done(undefined, sessionOf(call, options, extensions, json as never, verifier));
          } else return AGAIN;
          return undefined;
        },
        done,
      );
    }
  });
};

interface Started {
  readonly session: string;
  readonly url: string;
  readonly expiresIn: number;
  readonly link?: string;
  readonly userCode?: string;
}

function sessionOf(
  { platform }: Call,
  options: StartOptions,
  extensions: readonly string[],
  { session, url, link = url, userCode, expiresIn }: Started,
  verifier: string | undefined,
): Session {
  const endMs = platform.now() + expiresIn * 1_000 + GRACE_MS;
  const resultUrl = `${baseUrlOf(options.relay)}/auth/result?session=${encodeURIComponent(session)}`;
  const offers = (name: string) => extensions.indexOf(name) >= 0;

  const tell = (what: string, call: Call, done: Done<void>) =>
    ask(
      call,
      { url: `${resultUrl}&${what}=1` },
      ({ status, refusal }) => {
        if (status !== 204 && !refusal) return AGAIN;
        done(undefined);
        return undefined;
      },
      () => done(undefined),
    );

  return {
    prompt: {
      link,
      userCode,
      verificationUrl: userCode && link.replace(/L\/[^/]*$/, 'link'),
      qr: createQr(link),
      expiresIn,
    },

    poll(call, { onOpened }, done) {
      const canWait = offers('wait');
      const wait = canWait ? `&wait=${WAIT_SECONDS}` : '';
      let wasOpened = false;
      ask(
        call,
        { url: resultUrl + wait + (offers('progress') ? '&progress=1' : '') },
        ({ status, json, refusal, tookMs }) => {
          // Negative after a poll that was held: at once.
          const gapMs = POLL_GAP_MS - tookMs;
          if (status === 204) return gapMs;
          // Other refusals are from a proxy: the relay has only these for a poll.
          if (refusal && /400|405|410/.test(`${status}`)) {
            done(status === 410 ? fail('expired') : refusal);
            return undefined;
          }
          if (status !== 200) return AGAIN;
          const { progress, error, code, clientId, redirectUri } = json;
          const tokenUrl = options.tokenUrl || json.tokenUrl;
          if (progress) {
            if (wasOpened) return gapMs;
            wasOpened = true;
            onOpened?.();
            return 0;
          }
          const tokens = tokensOf(json);
          const isCoded = code && tokenUrl && verifier;
          if (!error && !tokens && !isCoded) return AGAIN;
          tell('ack', { platform }, () => {});
          if (error) done(fail(isCode(error) ? error : 'authorization_failed', `${error}`));
          else if (tokens) done(undefined, tokens);
          else {
            requestTokens(
              call,
              tokenUrl as string,
              {
                grant_type: 'authorization_code',
                code,
                redirect_uri: redirectUri,
                client_id: clientId,
                code_verifier: verifier,
              },
              { tokenUrl, clientId },
              (failure, own) =>
                done(failure && fail('exchange_failed', (failure as Failure).detail), own),
            );
          }
          return undefined;
        },
        () => done(fail('expired')),
        canWait ? WAIT_MS : LONG_POLL_MS,
        endMs,
      );
    },

    cancel(call, _options, done) {
      if (offers('cancel')) tell('cancel', call, done);
      else done(undefined);
    },
  };
}

export const signIn: Operation<SignInOptions, Tokens> = (call, options, done) => {
  const { now } = call.platform;

  /** An error of the app ends the sign-in. */
  function notify(run: () => void): void {
    try {
      run();
    } catch (error) {
      stop(call);
      done(error);
    }
  }

  function begin(): void {
    start(call, options, (failure, session) => {
      if (!session) return done(failure);
      const startedAtMs = now();
      call.cancel = session.cancel;
      notify(() => options.onPrompt(session.prompt));
      session.poll(
        call,
        { onOpened: () => notify(() => options.onOpened?.()) },
        (reason, tokens) => {
          call.cancel = undefined;
          const isExpired = reason && (reason as Failure).code === 'expired';
          if (isExpired && options.renew !== false && now() > startedAtMs + LOST_MS) begin();
          else done(reason, tokens);
        },
      );
    });
  }

  begin();
};
