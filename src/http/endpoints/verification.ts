/**
 * The verification pages (RFC 8628 §3.3): the home page, the code form, and the
 * confirmation page, which a user sees between a code, or with CONFIRM=always a link,
 * and the provider. It says which app and device ask. A GET changes nothing, so link
 * previews do no harm. docs/person.md.
 */
import type { Provider, Providers } from '../../providers/provider.ts';
import type { RateLimitPair } from '../../relay/rate-limit.ts';
import { isCapability } from '../../relay/secrets.ts';
import type { SessionOutcome } from '../../relay/session.ts';
import type { SessionInfo, SessionStore } from '../../relay/store.ts';
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
  const { store, cookies, signInLog, baseUrl, confirm } = parts;
  const { pagesFor, respond, respondWithPage } = pages;
  const basePath = basePathOf(baseUrl);
  const { origin } = new URL(baseUrl);
  // With CONFIRM=never a typed code redirects to the provider without a confirmation page.
  const codeForm = confirm === 'never' ? 'leaving' : 'answered';

  /** Does not say whether the code is unknown or expired. */
  function respondWithUnknownCode(request: RelayRequest, typed = ''): Response {
    return respond(404, pagesFor(request).codeUnknown(typed), codeForm);
  }

  /** Nothing for a GET, another site's form, or an unknown choice: nothing is decided then. */
  async function readDecision(request: RelayRequest): Promise<'continue' | 'decline' | undefined> {
    if (request.method !== 'POST' || !isSameOrigin(request, origin)) return undefined;
    const choice = (await bodies.readForm(request.raw, MAX_FORM_BYTES)).get('choice');
    return choice === 'continue' || choice === 'decline' ? choice : undefined;
  }

  function ask(
    request: RelayRequest,
    { ageMs, deviceName }: SessionInfo,
    { displayName, host }: Provider,
    userCode: string | undefined,
  ): Response {
    const link = userCode === undefined ? {} : { link: shortLinkOf(baseUrl, userCode) };
    const page = pagesFor(request).confirm({
      provider: displayName,
      providerHost: host,
      ageMs,
      ...(deviceName !== undefined && { deviceName }),
      ...(userCode !== undefined && { userCode: formatUserCode(userCode) }),
      ...(isInApp(request.header('user-agent')) && { inApp: link }),
    });
    return respond(200, page, 'leaving');
  }

  /** Each decision may be repeated: a lost response, a second tap, Back and a second tab end where the first did. */
  async function carryOut(
    request: RelayRequest,
    decision: Decision,
    found: SessionInfo | SessionOutcome,
    userCode?: string,
  ): Promise<Response> {
    if (typeof found === 'string') return respondWithPage(found, request);
    const { service, browserState } = found;
    const provider = providers.get(service);
    if (provider === undefined) return respondWithPage('link_invalid', request);
    if (decision === 'decline') return decline(request, found, provider);
    if (provider === 'undiscovered') {
      return respondWithPage('undiscovered', request, { headers: RETRY_DISCOVERY, browserState });
    }
    if (decision === 'ask') return ask(request, found, provider, userCode);
    const authorization = await store.getAuthorization(service, browserState);
    if (authorization === undefined) return respondWithOutcome(request, browserState);
    signInLog.opened(request, service, browserState);
    const location = provider.authorizeUrl(browserState, authorization);
    if (request.method === 'GET') return redirectResponse(location);
    const response = redirectResponse(location, 303);
    cookies.set(response, service, browserState);
    return response;
  }

  async function decline(
    request: RelayRequest,
    { service, browserState, deviceName }: SessionInfo,
    provider: Provider | 'undiscovered',
  ): Promise<Response> {
    const isDeclined = await store.fail(service, browserState, { error: 'access_denied' });
    if (!isDeclined) return respondWithOutcome(request, browserState);
    signInLog.finished(request, service, browserState, 'declined');
    const displayName = provider === 'undiscovered' ? undefined : provider.displayName;
    return respondWithPage('access_denied', request, {
      names: { deviceName, provider: displayName },
    });
  }

  /** Since it was found, another request has ended the session; or it has begun an exchange and given it up. */
  async function respondWithOutcome(
    request: RelayRequest,
    browserState: string,
  ): Promise<Response> {
    const found = (await store.getSession({ browserState })) ?? 'link_invalid';
    const page = typeof found === 'string' ? found : 'busy';
    return respondWithPage(page, request, { browserState });
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
      const decision = (await readDecision(request)) ?? (confirm === 'never' ? 'continue' : 'ask');
      // Before anything is looked up, so that a refusal says nothing about the code.
      const admitted = await admission.admitToPair(request, codeLimits, 'code');
      if (admitted.refusal === 'rate_limited') {
        const headers = retryAfter(admitted.retryAfterMs);
        return respondWithPage('too_many_tries', request, { headers });
      }
      if (admitted.refusal !== undefined) return refuse(admitted.refusal);
      const found = await store.getSession({ userCode });
      if (found === undefined) return respondWithUnknownCode(request, formatUserCode(userCode));
      // Only wrong codes count.
      await admitted.refund();
      return carryOut(request, decision, found, userCode);
    },

    async confirmLink(request) {
      const service = request.parameter;
      if (!providers.has(service)) return refuse('not_found');
      const decision = (await readDecision(request)) ?? 'ask';
      const browserState = request.query('state') ?? '';
      if (!isCapability(browserState)) return respondWithPage('link_invalid', request);
      const found = await store.getSession({ browserState });
      if (found === undefined || (typeof found === 'object' && found.service !== service)) {
        return respondWithPage('link_invalid', request);
      }
      return carryOut(request, decision, found);
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

/** `/LINK`, `/link/`, `/L`, `/link/wdjb-mjht`, `/WDJBMJHT`: what may be meant for the form or for a code. */
const MISTYPED = /^\/(?:(l|link)(?:\/+|$))?([^/]*)\/*$/i;

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
