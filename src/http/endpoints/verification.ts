/**
 * The verification pages (RFC 8628 §3.3): the home page, the code form, the short link, and
 * with CONFIRM=always the link. confirmation.ts handles a code that was found. docs/person.md.
 */
import type { Providers } from '../../providers/provider.ts';
import type { RateLimitPair } from '../../relay/rate-limit.ts';
import { formatUserCode, isCapability, parseUserCode } from '../../relay/secrets.ts';
import type { SessionStore } from '../../relay/store.ts';
import type { Admission } from '../admission.ts';
import type { Handler } from '../app.ts';
import {
  type BodyReader,
  basePathOf,
  MAX_FORM_BYTES,
  type RelayRequest,
  shortLinkOf,
} from '../request.ts';
import { type PageResponses, redirectResponse, refused } from '../responses.ts';
import type { Confirmation } from './confirmation.ts';

export interface VerificationParts {
  readonly pages: PageResponses;
  readonly admission: Admission;
  /** Limits on wrong user codes. RFC 8628 §5.1, docs/person.md "Guessing codes". */
  readonly codeLimits: RateLimitPair;
  readonly bodies: BodyReader;
  readonly store: SessionStore;
  readonly confirmation: Confirmation;
  readonly baseUrl: string;
}

export interface Verification {
  readonly home: Handler;
  readonly codeForm: Handler;
  readonly takeCode: Handler;
  /** `/L/XXXX-XXXX`, by GET and POST. */
  readonly shortLink: Handler;
  /** Any unknown path. A mistyped code or a mistyped `/link` is redirected. */
  notFound(request: RelayRequest): Response;
}

export function createVerification(parts: VerificationParts): Verification {
  const { pages, admission, codeLimits, bodies, store, confirmation, baseUrl } = parts;
  const { pagesFor, respond } = pages;
  const basePath = basePathOf(baseUrl);

  /** Does not say whether the code is unknown or expired. */
  function respondWithUnknownCode(request: RelayRequest, typed = ''): Response {
    return respond(404, pagesFor(request).codeUnknown(shorten(typed)), 'code');
  }

  function takeTyped(request: RelayRequest, typed: string, status: 302 | 303): Response {
    const userCode = parseUserCode(typed);
    if (userCode === undefined) {
      return respond(400, pagesFor(request).codeIncomplete(shorten(typed)), 'code');
    }
    // Only the path, because the browser may use another host name of the relay.
    return redirectResponse(shortLinkOf(basePath, userCode), status);
  }

  return {
    home: (request) => respond(200, pagesFor(request).home, 'code'),

    /** A code in the query counts as typed. */
    codeForm(request) {
      const typed = request.query('code') ?? request.query('user_code');
      return typed
        ? takeTyped(request, typed, 302)
        : respond(200, pagesFor(request).codeForm, 'code');
    },

    /** Needs no rate limit, because it looks nothing up. The short link to which it redirects has one. */
    async takeCode(request) {
      const typed = (await bodies.readForm(request.raw, MAX_FORM_BYTES)).get('code') ?? '';
      return takeTyped(request, typed, 303);
    },

    async shortLink(request) {
      const userCode = parseUserCode(request.parameter);
      if (userCode === undefined) return respondWithUnknownCode(request, decode(request.parameter));
      // Each code has one address, however the user typed it.
      if (request.path !== shortLinkOf('', userCode)) {
        const location = shortLinkOf(basePath, userCode);
        return redirectResponse(location, request.method === 'GET' ? 302 : 303);
      }
      const choice = await confirmation.readChoice(request);
      // Before anything is looked up, so that a refusal does not reveal whether the code exists.
      const admitted = await admission.admitToPair(request, codeLimits, 'code');
      if (!admitted.ok) return admitted;
      const found = await store.getSession({ userCode });
      if (found === undefined) return respondWithUnknownCode(request, formatUserCode(userCode));
      // Only wrong codes count.
      await admitted.refund();
      return confirmation.carryOut(request, choice ?? 'ask', found, userCode);
    },

    notFound(request) {
      const { path } = request;
      const local = path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : path;
      const [, isForm, rest] = MISTYPED.exec(local) ?? [];
      const userCode = parseUserCode(decode(rest ?? ''));
      if (userCode !== undefined) return redirectResponse(shortLinkOf(basePath, userCode));
      if (isForm !== undefined) return redirectResponse(`${basePath}/link`);
      return respond(404, pagesFor(request).notFound, 'code');
    },
  };
}

/** `/auth/<service>?state=` with CONFIRM=always, by GET and POST. */
export function createConfirmLink(
  { respondWithPage }: PageResponses,
  providers: Providers,
  store: SessionStore,
  confirmation: Confirmation,
): Handler {
  return async (request) => {
    const service = request.parameter;
    if (!providers.has(service)) return refused('unknown_service');
    const decision = (await confirmation.readChoice(request)) ?? 'ask';
    const browserState = request.query('state') ?? '';
    if (!isCapability(browserState)) return respondWithPage('link_invalid', request);
    const found = await store.getSession({ browserState });
    if (found === undefined || (typeof found === 'object' && found.service !== service)) {
      return respondWithPage('link_invalid', request);
    }
    return confirmation.carryOut(request, decision, found);
  };
}

/** `/LINK`, `/link/`, `/L`, `/link/wdjb-mjht`, `/WDJBMJHT`: what may be meant for the form or for a code. */
const MISTYPED = /^\/(?:(l|link)(?![^/])\/*)?(?:([^/]+)\/*)?$/i;

/** What was typed stays in the form, but a link or an address may contain more than a form may. */
const shorten = (typed: string) => typed.slice(0, MAX_FORM_BYTES);

/** A path segment as the user typed it. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
