/**
 * The verification pages (RFC 8628 §3.3): the home page, the code form, and the
 * confirmation page, which a user sees between a code, or with CONFIRM=always a link,
 * and the provider. It says which app and device ask. A GET changes nothing, so link
 * previews do no harm. docs/person.md.
 */
import { hash } from 'node:crypto';
import type { Provider, Providers } from '../../providers/provider.ts';
import type { RateLimitPair } from '../../relay/rate-limit.ts';
import { findLinkRefusal } from '../../relay/relay.ts';
import { isCapability } from '../../relay/secrets.ts';
import type { SessionInfo, SessionKey, SessionStore } from '../../relay/store.ts';
import type { Clock } from '../../relay/time.ts';
import type { Admission } from '../admission.ts';
import type { Handler } from '../app.ts';
import type { ContinueCookies } from '../continue-cookies.ts';
import { formatUserCode, parseUserCode, shortLinkOf } from '../links.ts';
import { type BodyReader, basePathOf, type RelayRequest } from '../request.ts';
import {
  type PageResponses,
  RETRY_DISCOVERY,
  redirectResponse,
  refuse,
  retryAfter,
} from '../responses.ts';
import type { SignInLog } from '../sign-in-log.ts';

/** How much of a form is read: a code with room for blanks, or a choice. */
const MAX_FORM_BYTES = 512;

export interface VerificationParts {
  readonly pages: PageResponses;
  readonly admission: Admission;
  /** Limits on wrong user codes. RFC 8628 §5.1, docs/person.md "Guessing codes". */
  readonly codeLimits: RateLimitPair;
  readonly bodies: BodyReader;
  readonly providers: Providers;
  readonly store: SessionStore;
  readonly cookies: ContinueCookies;
  readonly signInLog: SignInLog;
  readonly clock: Clock;
  readonly baseUrl: string;
  readonly confirm: 'always' | 'code' | 'never';
}

export interface Verification {
  readonly home: Handler;
  readonly codeForm: Handler;
  readonly takeCode: Handler;
  /** `/L/XXXX-XXXX`, by GET and POST. */
  readonly shortLink: Handler;
  /** `/auth/<service>?state=` with CONFIRM=always, by GET and POST. */
  readonly confirmLink: Handler;
  /** Any address that the relay does not have: a mistyped code or a mistyped `/link` leads on. */
  notFound(request: RelayRequest): Response;
}

type Decision = 'continue' | 'decline' | 'ask';

export function createVerification(parts: VerificationParts): Verification {
  const { pages, admission, codeLimits, bodies, providers } = parts;
  const { store, cookies, signInLog, clock, baseUrl, confirm } = parts;
  const { pagesFor, respond, respondWithPage } = pages;
  const basePath = basePathOf(baseUrl);
  const { origin } = new URL(baseUrl);
  // With CONFIRM=never a typed code redirects to the provider without a confirmation page.
  const codeForm = confirm === 'never' ? 'leaving' : 'answered';

  /** Does not say whether the code is unknown, used or expired. Of a cancelled sign-in the page says so. */
  function respondWithUnknownCode(request: RelayRequest, typed = ''): Response {
    return respond(404, pagesFor(request).codeUnknown(typed), codeForm);
  }

  async function respondWithLinkRefusal(request: RelayRequest, key: SessionKey): Promise<Response> {
    const browserState = 'browserState' in key ? key.browserState : undefined;
    return respondWithPage(await findLinkRefusal(store, key), request, { browserState });
  }

  /** No choice for a GET, another site's form, or an unknown choice: nothing is decided then. */
  async function readDecision(request: RelayRequest): Promise<Decided> {
    if (request.method !== 'POST' || !isSameOrigin(request, origin)) return UNDECIDED;
    const form = await bodies.readForm(request.raw, MAX_FORM_BYTES);
    const choice = form.get('choice');
    if (choice !== 'continue' && choice !== 'decline') return UNDECIDED;
    return { choice, proof: form.get('proof') ?? '' };
  }

  /**
   * Whether the form comes from a confirmation page of this code. Such a user has been
   * right before, so a neighbour's wrong codes must not keep them from deciding. Without
   * the proof, which nobody can guess, the response is that of a limited guess.
   */
  async function wasShown(userCode: string, proof: string): Promise<boolean> {
    if (proof === '') return false;
    const session = await store.getSession({ userCode });
    return session !== undefined && proof === proofOf(session.browserState);
  }

  function ask(
    request: RelayRequest,
    { startedAtMs, deviceName, browserState }: SessionInfo,
    { displayName, host }: Provider,
    userCode: string | undefined,
  ): Response {
    const link = userCode === undefined ? {} : { link: shortLinkOf(baseUrl, userCode) };
    const page = pagesFor(request).confirm({
      provider: displayName,
      providerHost: host,
      ageMs: clock.now() - startedAtMs,
      ...(deviceName !== undefined && { deviceName }),
      ...(userCode !== undefined && {
        userCode: formatUserCode(userCode),
        proof: proofOf(browserState),
      }),
      ...(isInApp(request.header('user-agent')) && { inApp: link }),
    });
    return respond(200, page, 'leaving');
  }

  /**
   * A cookie is set for `usedCode`. The page does not show the code to a user who
   * returns by a cookie: the client may have made the cookie up, and must not learn
   * whether that code exists.
   */
  async function carryOut(
    request: RelayRequest,
    decision: Decision,
    session: SessionInfo,
    usedCode?: string,
    isReturning = false,
  ): Promise<Response> {
    const { service, browserState } = session;
    const provider = providers.get(service);
    if (provider === undefined) return respondWithPage('link_invalid', request);
    if (decision === 'decline') {
      const isDeclined = await store.fail(service, browserState, { error: 'access_denied' });
      if (!isDeclined) return respondWithLinkRefusal(request, { browserState });
      signInLog.finished(request, service, browserState, 'declined');
      const names = {
        deviceName: session.deviceName,
        provider: provider === 'undiscovered' ? undefined : provider.displayName,
      };
      return respondWithPage('access_denied', request, { names });
    }
    let response: Response;
    if (provider === 'undiscovered') {
      response = respondWithPage('undiscovered', request, {
        headers: RETRY_DISCOVERY,
        browserState,
      });
    } else if (decision === 'ask') {
      return ask(request, session, provider, isReturning ? undefined : usedCode);
    } else {
      const authorization = await store.getAuthorization(service, browserState);
      if (authorization === undefined) return respondWithLinkRefusal(request, { browserState });
      signInLog.opened(request, service, browserState);
      const location = provider.authorizeUrl(browserState, authorization);
      response = redirectResponse(location, request.method === 'GET' ? 302 : 303);
    }
    // Continue used the code up, so this browser needs the cookie to return, also after a 503.
    if (decision === 'continue' && request.method === 'POST') {
      cookies.set(response, service, browserState, usedCode);
    }
    return response;
  }

  async function findReturning(request: RelayRequest, userCode: string) {
    const browserState = cookies.findBrowserState(request, userCode);
    if (browserState === undefined) return undefined;
    const session = await store.getSession({ browserState });
    if (session !== undefined) return session;
    return (await store.isCancelled({ browserState })) ? 'cancelled' : undefined;
  }

  return {
    home: (request) => respond(200, pagesFor(request).home, codeForm),

    /** A code in the query is taken as if it were typed. */
    codeForm(request) {
      const typed = request.query('code') ?? request.query('user_code');
      return typed
        ? takeTyped(request, typed, 302)
        : respond(200, pagesFor(request).codeForm, codeForm);
    },

    /** Needs no rate limit, because it looks nothing up. The short link to which it redirects has one. */
    async takeCode(request) {
      const typed = (await bodies.readForm(request.raw, MAX_FORM_BYTES)).get('code') ?? '';
      return takeTyped(request, typed, 303);
    },

    async shortLink(request) {
      const userCode = parseUserCode(request.parameter);
      if (userCode === undefined) return respondWithUnknownCode(request, decode(request.parameter));
      // One address for each code, because a cookie belongs to one path, which cannot contain `;`.
      if (request.path !== shortLinkOf('', userCode)) {
        const location = shortLinkOf(basePath, userCode);
        return redirectResponse(location, request.method === 'GET' ? 302 : 303);
      }
      const { choice, proof } = await readDecision(request);
      const decision = choice ?? (confirm === 'never' ? 'continue' : 'ask');
      // A browser that returns does not try a code: it gets the response of its own sign-in,
      // whatever the code. So the code is neither looked up nor counted.
      const returning = await findReturning(request, userCode);
      if (returning === 'cancelled') return respondWithPage('cancelled', request);
      if (returning !== undefined) {
        return carryOut(request, decision, returning, userCode, true);
      }
      if (choice && (await wasShown(userCode, proof))) {
        const session = await store.useCode(userCode);
        return session === undefined
          ? respondWithUnknownCode(request, formatUserCode(userCode))
          : carryOut(request, decision, session, userCode);
      }
      // Before the lookup, so that a refusal says nothing about the code.
      const admitted = await admission.admitToPair(request, codeLimits, 'code');
      if (admitted.refusal === 'rate_limited') {
        const headers = retryAfter(admitted.retryAfterMs);
        return respondWithPage('too_many_tries', request, { headers });
      }
      if (admitted.refusal !== undefined) return refuse(admitted.refusal);
      const session = await (choice ? store.useCode(userCode) : store.getSession({ userCode }));
      const isCancelled = session === undefined && (await store.isCancelled({ userCode }));
      if (session === undefined && !isCancelled) {
        return respondWithUnknownCode(request, formatUserCode(userCode));
      }
      // Only wrong codes count.
      await admitted.refund();
      if (session === undefined) return respondWithPage('cancelled', request);
      return carryOut(request, decision, session, userCode);
    },

    async confirmLink(request) {
      const service = request.parameter;
      if (!providers.has(service)) return refuse('not_found');
      const decision = (await readDecision(request)).choice ?? 'ask';
      const browserState = request.query('state') ?? '';
      if (!isCapability(browserState)) return respondWithPage('link_invalid', request);
      const session = await store.getSession({ browserState });
      if (session?.service !== service) return respondWithLinkRefusal(request, { browserState });
      return carryOut(request, decision, session);
    },

    notFound(request) {
      const [, isForm, rest] = MISTYPED.exec(withoutBase(request.path)) ?? [];
      const userCode = parseUserCode(decode(rest ?? ''));
      if (userCode !== undefined) return redirectResponse(shortLinkOf(basePath, userCode));
      if (isForm !== undefined) return redirectResponse(`${basePath}/link`);
      return respond(404, pagesFor(request).notFound, codeForm);
    },
  };

  function takeTyped(request: RelayRequest, typed: string, status: 302 | 303): Response {
    const userCode = parseUserCode(typed);
    if (userCode === undefined) {
      const kept = typed.slice(0, MAX_FORM_BYTES);
      return respond(400, pagesFor(request).codeIncomplete(kept), codeForm);
    }
    // Only the path, because the browser may use another host name of the relay.
    return redirectResponse(shortLinkOf(basePath, userCode), status);
  }

  function withoutBase(path: string): string {
    return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : path;
  }
}

interface Decided {
  readonly choice: 'continue' | 'decline' | undefined;
  readonly proof: string;
}

const UNDECIDED: Decided = { choice: undefined, proof: '' };

/** `/LINK`, `/link/`, `/L`, `/link/wdjb-mjht`, `/WDJBMJHT`: what may be meant for the form or for a code. */
const MISTYPED = /^\/(?:(l|link)(?:\/+|$))?([^/]*)\/*$/i;

/** A digest, so that the page does not contain the browser state. */
function proofOf(browserState: string): string {
  return hash('sha256', `shown:${browserState}`, 'base64url');
}

/** A segment of an address as the user typed it. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/**
 * Browsers send these headers themselves, and no page can change them. A browser that is
 * too old to send either is accepted (docs/person.md "Whom the confirmation page
 * protects").
 * https://www.w3.org/TR/fetch-metadata/#sec-fetch-site-header
 */
function isSameOrigin(request: RelayRequest, origin: string): boolean {
  const site = request.header('sec-fetch-site');
  if (site !== undefined) return site === 'same-origin';
  const sender = request.header('origin');
  return sender === undefined || sender === origin;
}

/**
 * Whether the page is open inside another app. Some providers refuse sign-ins there
 * (Google: `disallowed_useragent`), because that app could read the password (RFC 8252
 * §8.12). This is guessed from the User-Agent, and only adds advice to the page.
 */
function isInApp(userAgent = ''): boolean {
  return IN_APP.test(userAgent);
}

const IN_APP =
  /\b(?:FBAN|FBAV|FB_IAB|Instagram|Line\/|MicroMessenger|Twitter|Snapchat|BytedanceWebview|musical_ly|TikTok|Pinterest\/|LinkedInApp|GSA\/)|; wv\)/;
