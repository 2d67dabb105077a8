/**
 * The confirmation page (RFC 8628 §3.3), which a user sees between a code, or with
 * CONFIRM=always a link, and the provider. It names the app and the device. A GET changes
 * nothing, so link previews do no harm. docs/person.md.
 */
import type { Provider, Providers } from '../../providers/provider.ts';
import { formatUserCode } from '../../relay/secrets.ts';
import type { SessionOutcome } from '../../relay/session.ts';
import type { SessionInfo, SessionStore } from '../../relay/store.ts';
import type { ContinueCookies } from '../continue-cookies.ts';
import { type BodyReader, MAX_FORM_BYTES, type RelayRequest, shortLinkOf } from '../request.ts';
import { type PageResponses, redirectResponse } from '../responses.ts';
import type { SignInLog } from '../sign-in-log.ts';

export interface ConfirmationParts {
  readonly pages: PageResponses;
  readonly bodies: BodyReader;
  readonly providers: Providers;
  readonly store: SessionStore;
  readonly cookies: ContinueCookies;
  readonly signInLog: SignInLog;
  readonly baseUrl: string;
}

export interface Confirmation {
  /** What the user chose. Undefined for a GET, another site's form, or an unknown choice. */
  readChoice(request: RelayRequest): Promise<'continue' | 'decline' | undefined>;
  /**
   * Carries out a decision on a session that was found by its code or its link. It may be
   * repeated: after a lost response, by a second tap or tab, or by Back, with the same result.
   */
  carryOut(
    request: RelayRequest,
    decision: Decision,
    found: SessionInfo | SessionOutcome,
    userCode?: string,
  ): Promise<Response>;
}

export type Decision = 'continue' | 'decline' | 'ask';

export function createConfirmation(parts: ConfirmationParts): Confirmation {
  const { pages, bodies, providers, store, cookies, signInLog, baseUrl } = parts;
  const { pagesFor, respond, respondWithPage } = pages;
  const { origin } = new URL(baseUrl);

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
    return respond(200, page, 'choice');
  }

  /** `provider` is the name that users see. */
  async function decline(
    request: RelayRequest,
    { service, browserState, deviceName }: SessionInfo,
    provider: string | undefined,
  ): Promise<Response> {
    const isDeclined = await store.fail(service, browserState, { error: 'access_denied' });
    if (!isDeclined) return respondWithOutcome(request, browserState);
    signInLog.finished(request, service, browserState, 'declined');
    return respondWithPage('declined', request, { names: { deviceName, provider } });
  }

  async function redirectToProvider(
    request: RelayRequest,
    provider: Provider,
    browserState: string,
  ): Promise<Response> {
    const { name } = provider;
    const exchange = await store.authorize(name, browserState);
    if (exchange === undefined) return respondWithOutcome(request, browserState);
    signInLog.opened(request, name, browserState);
    const response = redirectResponse(provider.authorizeUrl(browserState, exchange), 303);
    cookies.set(request, response, browserState);
    return response;
  }

  /** Another request has meanwhile ended the session, or begun an exchange and undone it. */
  async function respondWithOutcome(
    request: RelayRequest,
    browserState: string,
  ): Promise<Response> {
    const found = (await store.getSession({ browserState })) ?? 'link_invalid';
    const page = typeof found === 'string' ? pageOf(found) : 'busy';
    return respondWithPage(page, request, { browserState });
  }

  return {
    async readChoice(request) {
      if (request.method !== 'POST' || !isSameOrigin(request, origin)) return undefined;
      const choice = (await bodies.readForm(request.raw, MAX_FORM_BYTES)).get('choice');
      return choice === 'continue' || choice === 'decline' ? choice : undefined;
    },

    async carryOut(request, decision, found, userCode) {
      if (typeof found === 'string') return respondWithPage(pageOf(found), request);
      const { service, browserState } = found;
      if (!providers.has(service)) return respondWithPage('link_invalid', request);
      const lookup = providers.find(service);
      if (decision === 'decline') {
        return decline(request, found, lookup.ok ? lookup.provider.displayName : undefined);
      }
      if (!lookup.ok) return pages.refuse(lookup, request, browserState);
      return decision === 'ask'
        ? ask(request, found, lookup.provider, userCode)
        : redirectToProvider(request, lookup.provider, browserState);
    },
  };
}

/** Nothing failed for a user who declined, here or at the provider. */
function pageOf(outcome: SessionOutcome | 'link_invalid') {
  return outcome === 'access_denied' ? 'declined' : outcome;
}

/**
 * Browsers set these headers, and no page can change them. A browser that is too old to send
 * either is accepted (docs/person.md "Whom the confirmation page protects").
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
