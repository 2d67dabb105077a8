/** One sign-in at the relay: starts it, and fetches its result. */
import { ask, type Call, type Members, parse, pause, type Reply } from './ask.ts';
import { createCountdown } from './countdown.ts';
import { attempt, quote, SignInError } from './errors.ts';
import { discover, textsOf } from './offer.ts';
import {
  addressOf,
  askForTokens,
  formOf,
  formTo,
  isPrintableAscii,
  type RelayService,
  relayRequest,
  type Tokens,
  tokensOf,
} from './tokens.ts';

/** The app's own client at a provider. The relay lends only its https address (docs/open.md). */
export interface OpenClient {
  /** The authorization endpoint, with `scope` and other parameters in its query. If it has a `state`, a callback with another one is refused. */
  readonly authorizationUrl: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly revocationUrl?: string | undefined;
  /** The provider's issuer. If given, a callback that names another one is refused (RFC 9207). */
  readonly issuer?: string | undefined;
  /** `true`: a callback without an issuer is refused too, since the provider's metadata has `authorization_response_iss_parameter_supported`. */
  readonly issuerRequired?: boolean | undefined;
}

export interface StartOptions extends RelayService {
  /** Default: the relay's own client at `service`. */
  readonly open?: OpenClient | undefined;
  /** The device's name, which the user sees: up to 40 characters. */
  readonly device?: string | undefined;
  /** `false`: no user code, and a longer link, which asks for confirmation only with `CONFIRM=always`. */
  readonly code?: boolean | undefined;
  /** `true`: the tokens include `tokenType`, `scope` and `idToken` if the provider sends them. */
  readonly details?: boolean | undefined;
  /**
   * The device exchanges the code itself, so that the relay sees no token. Default:
   * if the relay offers it, but not in a web page, where CORS may prevent it.
   * `true`: fail with `refused` if that is impossible. `false`: only if the relay requires it.
   */
  readonly blind?: boolean | undefined;
  /** The provider's token endpoint, if the app knows it. Then the code, verifier and tokens of a blind sign-in go nowhere else. */
  readonly tokenUrl?: string | undefined;
}

/** The token endpoint that the app named, if any. */
export const ownTokenUrl = (options: StartOptions): string | undefined =>
  options.tokenUrl || options.open?.tokenUrl;

/** What the app shows while the user signs in. */
export interface Prompt {
  /** The link that the user opens or scans. */
  readonly link: string;
  /** The code to type at `verificationUrl`. Undefined if the app asked for none, or the relay has none. */
  readonly userCode: string | undefined;
  readonly verificationUrl: string | undefined;
  /** The address of a PNG of the link as a QR code, drawn by the relay. `.svg` instead of `.png` is an SVG. Undefined if there is no user code. */
  readonly qr: string | undefined;
  /** Seconds from the start until the link expires. */
  readonly expiresIn: number;
  /** Seconds for a countdown. Never more than the time left, even if the clock is changed. */
  secondsLeft(): number;
}

export interface Link {
  readonly prompt: Prompt;
  readonly countdown: ReturnType<typeof createCountdown>;
  readonly resultUrl: string;
  /** What another process needs to continue it. Not in the prompt, so that apps don't log its secrets. */
  readonly resumable: ResumableSignIn;
}

interface ResumableSignIn {
  readonly started: NonNullable<ReturnType<typeof parseStart>>;
  readonly extensions: readonly string[];
  readonly verifier: string | undefined;
  /** Wall-clock time: no other clock is the same in two processes. */
  readonly startedAtMs: number;
}

/** Shorter than the relay's 50 s: some proxies time out after 30 s, and a dead connection is noticed sooner. */
const WAIT_SECONDS = 25;
/** How late a response to a poll may be. Then its connection counts as dead. */
const LATENCY_MS = 10_000;
/** The least time between two polls, because a relay that restarts answers at once. */
const POLL_GAP_MS = 2_000;
/** How long polling goes on after the end of a session that the relay still calls pending. */
const MAX_OVERTIME_MS = 3_600_000;
/** A relay without `wait` holds a poll for 50 s. */
const LONG_POLL_MS = 65_000;
/** A link is opened in a browser, where other schemes run scripts or start apps. A user name would look like the host. */
const LINK = /^https?:\/\/(?!:|[^\s/?#\\]*@)[!-~]{1,2048}$/i;
/** Other errors count as `authorization_failed` (docs/protocol.md §3). */
const REPORTED = /^(access_denied|missing_code|exchange_failed)$/;
const SHORT_LINK = /\/L\/[^/]*$/;
const USER_CODE = /^[A-Z]{4}-[A-Z]{4}$/;
/** What a relay allows for SESSION_SECONDS. */
const MAX_LINK_SECONDS = 86_400;

/** The relay's response to a start. Undefined if it is not one. */
function parseStart(json: Members) {
  const { session, url, link = url, userCode, qr, expiresIn } = json;
  const isGood =
    isPrintableAscii(session) &&
    isPrintableAscii(link) &&
    LINK.test(link) &&
    typeof expiresIn === 'number' &&
    expiresIn > 0 &&
    expiresIn <= MAX_LINK_SECONDS;
  if (!isGood) return undefined;
  const isTyped = isPrintableAscii(userCode) && USER_CODE.test(userCode) && SHORT_LINK.test(link);
  return {
    session,
    link,
    userCode: isTyped ? userCode : undefined,
    qr: isPrintableAscii(qr) && LINK.test(qr) ? qr : undefined,
    expiresIn,
  };
}

/** Restores a stored sign-in of this relay and service. Undefined if it is damaged. */
export function resume(call: Call<StartOptions>, text: unknown): Link | undefined {
  const { blind, open } = call.options;
  const stored = Object(parse(text));
  const { extensions, verifier, startedAtMs } = stored;
  const started = parseStart(Object(stored.started));
  if (!started || typeof startedAtMs !== 'number') return undefined;
  // If there is no verifier, the tokens come from the relay.
  if ((verifier || blind || open) && !isPrintableAscii(verifier)) return undefined;
  return linkOf(call, { started, extensions: textsOf(extensions), verifier, startedAtMs });
}

function linkOf({ platform, options }: Call<StartOptions>, resumable: ResumableSignIn): Link {
  const { session, link, userCode, qr, expiresIn } = resumable.started;
  const countdown = createCountdown(platform, expiresIn * 1_000, resumable.startedAtMs);
  return {
    prompt: {
      link,
      userCode,
      verificationUrl: userCode && link.replace(SHORT_LINK, '/link'),
      qr,
      expiresIn,
      secondsLeft: () => Math.floor(countdown.leftMs() / 1_000),
    },
    countdown,
    resultUrl: `${addressOf(options)}/auth/result?session=${encodeURIComponent(session)}`,
    resumable,
  };
}

export async function start(call: Call<StartOptions>): Promise<Link> {
  const { platform, options } = call;
  const { service, device, code, details, open } = options;
  const { services, extensions } = await discover(call, true);
  const blind = services.filter((each) => each.service === service)[0]?.blind;
  const isOffered = open ? extensions.indexOf('open') >= 0 : !!blind && blind !== 'no';
  const isNeeded = !!open || options.blind || blind === 'must';
  const isTried = isNeeded || (isOffered && !platform.origin && options.blind !== false);
  const pkce = await (isTried && platform.challenge());
  if (isNeeded && !(isOffered && pkce)) {
    const who = isOffered ? 'No Web Crypto here for' : 'The relay does not offer';
    throw new SignInError('refused', `${who} ${open ? 'open' : 'blind'} sign-ins`);
  }
  const { verifier, challenge } = pkce || {};
  const given = {
    service: open ? undefined : service,
    authorizationUrl: open && authorizationUrlOf(open, challenge),
    code: code !== false,
    ack: true,
    device: device && `${device}`.slice(0, 40),
    details,
    challenge,
  };
  return ask(
    call,
    relayRequest(options, open ? '/open' : '/auth/start', given),
    ({ status, json, tookMs, wallMs }) => {
      const started = status === 200 && parseStart(json);
      if (!started) return undefined;
      // The device may have slept since it asked. A larger difference means that its clock was set.
      const ageMs = wallMs < started.expiresIn * 1_000 ? Math.max(wallMs, tookMs) : tookMs;
      const startedAtMs = platform.date() - ageMs;
      return linkOf(call, { started, extensions, verifier, startedAtMs });
    },
  );
}

/** RFC 6749 §4.1.1, RFC 7636 §4.3. The relay adds redirect_uri and state. */
function authorizationUrlOf(open: OpenClient, challenge: string | undefined): string {
  const query = formOf({
    response_type: 'code',
    client_id: open.clientId,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
  return open.authorizationUrl + (open.authorizationUrl.indexOf('?') < 0 ? '?' : '&') + query;
}

const offers = ({ resumable }: Link, name: string) => resumable.extensions.indexOf(name) >= 0;

/**
 * Acknowledges the result, or cancels the sign-in, so that its link says so. Best effort. An older
 * relay would take a cancellation for a poll.
 */
export function sendAckOrCancel(
  { platform, options }: Call,
  link: Link,
  what: 'ack' | 'cancel',
): void {
  if (what === 'cancel' && !offers(link, what)) return;
  const url = `${link.resultUrl}&${what}=1`;
  ask({ platform, options }, { url }, ({ status }) => status === 204 || undefined).catch(() => {});
}

/** Waits for the tokens, until the sign-in ends or the link expires. An older relay never causes `onOpened`. */
export async function poll(
  call: Call<StartOptions>,
  link: Link,
  onOpened: () => void,
): Promise<Tokens> {
  const { resumable, countdown, resultUrl } = link;
  const { endMs, leftMs, initialMs } = countdown;
  const { now, date } = call.platform;
  const hasWait = offers(link, 'wait');
  const progress = offers(link, 'progress') ? '&progress=1' : '';
  let wasOpened = false;

  function next(isRepeated: boolean) {
    // A poll after a failure is short, so that the app soon learns that the relay is back.
    const seconds = Math.min(Math.floor(leftMs() / 1_000), isRepeated ? 1 : WAIT_SECONDS);
    const wait = hasWait ? `&wait=${seconds}` : '';
    const timeoutMs = hasWait ? seconds * 1_000 + LATENCY_MS : LONG_POLL_MS;
    return { url: resultUrl + wait + progress, timeoutMs };
  }

  function read(reply: Reply) {
    const { status, json, isJson, refusal, detail } = reply;
    // The relay refuses a poll only with these. Any other refusal comes from a proxy.
    if (status === 410 && refusal) throw new SignInError('expired', detail);
    if (refusal && /400|405/.test(`${status}`)) throw refusal;
    if (status === 204) return reply;
    if (status !== 200) return undefined;
    // A blind sign-in returns a code. Anything else is refused later.
    const isOther = json.progress || json.error || resumable.verifier;
    return (isOther ? isJson : tokensOf(json, date())) ? reply : undefined;
  }

  for (;;) {
    const reply = await ask(call, next, read, endMs);
    const { status, json, tookMs } = reply;
    if (status === 204) {
      countdown.confirm(reply);
      // The link had already expired when polling began, so it is not on any screen.
      if (!initialMs || now() >= endMs + MAX_OVERTIME_MS) {
        throw new SignInError('expired', 'The link has expired');
      }
    } else if (!json.progress) {
      return takeResult(call, link, json);
    } else if (!wasOpened) {
      wasOpened = true;
      onOpened();
      continue;
    }
    // Negative after a poll that was held: the next one follows at once.
    await pause(call, POLL_GAP_MS - tookMs);
  }
}

function takeResult(call: Call<StartOptions>, link: Link, json: Members): Tokens | Promise<Tokens> {
  const { error } = json;
  if (error) {
    sendAckOrCancel(call, link, 'ack');
    const code = isPrintableAscii(error) && REPORTED.test(error) ? error : 'authorization_failed';
    throw new SignInError(code as 'access_denied', `The sign-in ended with ${quote(error)}`);
  }
  const { verifier } = link.resumable;
  return verifier
    ? exchange(call, verifier, json)
    : (tokensOf(json, call.platform.date()) as Tokens);
}

/** Exchanges the code of a blind sign-in. A relay that sends tokens instead has seen them. */
function exchange(call: Call<StartOptions>, verifier: string, json: Members): Promise<Tokens> {
  const { options } = call;
  const { open } = options;
  // The callback of an open sign-in is untrusted. What the app already knows comes from its own options.
  const { code, iss, state } = Object(open ? json.callback : json);
  const { clientId, revocationUrl } = open || json;
  const problem = open && callbackProblem(open, iss, state);
  if (problem) throw new SignInError('refused', problem);
  const named = ownTokenUrl(options);
  const tokenUrl = named || json.tokenUrl;
  const own = `${addressOf(options)}/`;
  const isElsewhere = isPrintableAscii(tokenUrl) && (!!named || tokenUrl.indexOf(own) !== 0);
  if (!isPrintableAscii(code) || !isElsewhere || !isPrintableAscii(clientId)) {
    throw new SignInError('refused', 'The relay sent no code, or its own token URL');
  }
  const form = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: json.redirectUri,
    client_id: clientId,
    code_verifier: verifier,
  };
  return askForTokens(call, formTo(tokenUrl, form), { tokenUrl, clientId, revocationUrl }).catch(
    ({ detail, cause }: SignInError) => {
      throw new SignInError('exchange_failed', detail, cause);
    },
  );
}

function callbackProblem(open: OpenClient, iss: unknown, state: unknown): string | undefined {
  const { authorizationUrl, issuer, issuerRequired } = open;
  if (issuer && iss !== issuer && (issuerRequired || iss !== undefined)) {
    return `The callback names ${iss === undefined ? 'no' : 'another'} issuer`;
  }
  const [, own] = /[?&]state=([^&]*)/.exec(authorizationUrl) || [];
  if (own !== undefined && state !== decoded(own)) return 'The callback has another state';
  return undefined;
}

/** Decodes like `URLSearchParams`, which old engines do not have. */
const decoded = (value: string): string =>
  attempt(() => decodeURIComponent(value.replace(/\+/g, ' '))) || value;
