/** The user's browser: it opens the link, and the provider redirects it back. docs/protocol.md §5. */
import { log } from '../../log.ts';
import type { OutcomeName } from '../../pages/outcome.tsx';
import type { Provider } from '../../providers/provider.ts';
import { isRefusal, type TokenFailure } from '../../providers/token-response.ts';
import { isCapability, signInIdOf } from '../../sign-ins/secrets.ts';
import type { ErrorResult } from '../../sign-ins/session.ts';
import {
  type EndedCallback,
  isFinal,
  type NotFinal,
  type SignIns,
} from '../../sign-ins/sign-ins.ts';
import type { Handler } from '../app.ts';
import type { PageDependencies } from '../dependencies.ts';
import { isBackgroundRequest, isPrefetch, type RelayRequest } from '../request.ts';
import { redirectResponse, refuse } from '../responses.ts';
import { outcomePageOf } from './confirmation.ts';

/** `GET /auth/<service>`: the link. Ends nothing, so link previews do no harm. docs/protocol.md §5. */
export function createLink({ signIns, providers, signInLog, pages }: PageDependencies): Handler {
  const { respondWithPage } = pages;
  return async (request) => {
    const service = request.parameter;
    const lookup = providers.find(service);
    if (!lookup.ok) return lookup;
    const browserState = request.stateOfLink();
    if (!isCapability(browserState)) return respondWithPage('link_invalid', request);
    // A prefetch does not mean that the user has opened the link, so no device is notified.
    const isUserNavigation = !isPrefetch(request);
    const opened = isUserNavigation
      ? await signIns.open(service, browserState)
      : await findDelivery(signIns, service, browserState);
    if (typeof opened !== 'object') {
      return respondWithPage(opened === 'cancelled' ? opened : 'link_invalid', request);
    }
    if (isUserNavigation) signInLog.opened(request, service, browserState);
    return redirectResponse(lookup.provider.authorizeUrl(browserState, opened));
  };
}

async function findDelivery(signIns: SignIns, service: string, browserState: string) {
  const found = await signIns.find({ browserState }, service);
  return found && 'outcome' in found ? found.outcome : found?.delivery;
}

const OTHER_BROWSER_HINT =
  'with CONFIRM=always, and in open sign-ins, only the browser in which the user pressed Continue can finish: this was another one, or it keeps no cookies';

/**
 * `GET /auth/<service>/callback`: the provider has redirected the browser. If the browser
 * disconnects, the exchange continues, because the code is spent and the device waits for the
 * tokens. docs/protocol.md §5.
 */
export function createCallback(dependencies: PageDependencies): Handler {
  const { providers, cookies, confirm, signInLog, pages } = dependencies;
  const { respondWithPage } = pages;
  return async (request) => {
    const service = request.parameter;
    const lookup = providers.find(service);
    if (!lookup.ok) return lookup;
    // Otherwise any page could sign its visitors in on an attacker's device, at a provider that asks users nothing.
    // A provider's own page may come here by `fetch`; another site's cannot, because CORS stops that.
    if (isBackgroundRequest(request) && request.header('sec-fetch-mode') !== 'cors') {
      return refuse('origin_not_allowed');
    }
    const { provider } = lookup;
    const browserState = request.query('state') ?? '';
    if (!isCapability(browserState)) return respondWithPage('link_invalid', request);
    const session = { service, browserState };
    const hasContinued =
      confirm === 'always' ? cookies.hasContinued(request, browserState) : undefined;
    if (hasContinued === false) return respondToOtherBrowser(dependencies, request, session);
    const ended = await endSignIn(request, provider, browserState, dependencies);
    const { outcome, deviceName } = ended;
    signInLog.finished(request, service, browserState, outcome);
    if (!isFinal(outcome)) {
      return respondToSecondCallback(dependencies, request, session, outcome, hasContinued);
    }
    // For a device without a name it is the page of /auth/done.
    if (outcome === 'signed_in' && deviceName === undefined) {
      return respondWithPage(outcome, request);
    }
    const names = { deviceName, provider: provider.displayName };
    return respondWithPage(pageOf(ended, request), request, { names });
  };
}

/**
 * Some providers navigate twice, and users reload. A browser in which the user pressed Continue
 * sees the state of the sign-in; any other sees that the link is no longer valid.
 */
export async function respondToSecondCallback(
  { signIns, pages }: PageDependencies,
  request: RelayRequest,
  { service, browserState }: { readonly service: string; readonly browserState: string },
  outcome: NotFinal,
  hasContinued: boolean | undefined,
): Promise<Response> {
  const found =
    outcome === 'link_invalid' && hasContinued && (await signIns.find({ browserState }, service));
  const page = found && 'outcome' in found ? outcomePageOf(found.outcome) : outcome;
  return pages.respondWithPage(page, request, { service });
}

/** The browser that comes back is not the one in which somebody pressed Continue. */
export async function respondToOtherBrowser(
  { signIns, pages }: PageDependencies,
  request: RelayRequest,
  { service, browserState }: { readonly service: string; readonly browserState: string },
): Promise<Response> {
  const found = await signIns.find({ browserState }, service);
  // Not logged: links that have expired are routine.
  if (!found || 'outcome' in found) {
    return pages.respondWithPage('link_invalid', request, { service });
  }
  const signIn = signInIdOf(browserState);
  const hint = OTHER_BROWSER_HINT;
  log.info('callback_without_cookie', { requestId: request.id, service, signIn, hint });
  return pages.respondWithPage('other_browser', request);
}

/** Checks for an error, then for a missing code, then the issuer. Only then the code is exchanged. */
async function endSignIn(
  request: RelayRequest,
  provider: Provider,
  browserState: string,
  { signIns, signInLog }: PageDependencies,
): Promise<EndedCallback<TokenFailure>> {
  const error = request.query('error');
  const code = request.query('code');
  if (error || !code) {
    const ended = await signIns.fail(provider.name, browserState, errorOf(error));
    if (ended.outcome === 'authorization_failed' || ended.outcome === 'missing_code') {
      if (hasUserCancelled(request)) {
        signInLog.authorizationCancelled(request, provider.name, browserState);
      } else {
        signInLog.authorizationFailed(request, provider, browserState, shownErrorOf(request));
      }
    }
    return ended;
  }
  // The code may be another provider's, so it is not sent to this one.
  if (!provider.acceptsIssuer(request.query('iss'))) {
    const ended = await signIns.fail(provider.name, browserState, 'authorization_failed');
    if (ended.outcome === 'authorization_failed') {
      signInLog.authorizationFailed(request, provider, browserState, 'other_issuer');
    }
    return ended;
  }
  const finished = await provider.withinLimit(() =>
    signIns.finish(provider.name, browserState, (delivery) => provider.resolveCode(code, delivery)),
  );
  const ended = finished ?? ({ outcome: 'busy' } as const);
  if (ended.failure !== undefined) {
    signInLog.fail('exchange', request, provider, ended.failure, browserState);
  }
  return ended;
}

/**
 * True if the user declined, even if the provider does not say `access_denied`: LinkedIn, Apple,
 * TikTok and others; X has only `denied`, and Facebook may have only `error_reason`.
 */
function hasUserCancelled(request: RelayRequest): boolean {
  const error = request.query('error');
  if (error) return CANCELLATIONS.has(error.toLowerCase());
  return request.query('denied') !== undefined || Boolean(request.query('error_reason'));
}

const CANCELLATIONS: ReadonlySet<string> = new Set([
  ...['access_denied', 'user_denied', 'user_cancelled', 'cancelled', 'canceled'],
  ...['user_cancelled_login', 'user_cancelled_authorize'],
]);

/** The error for the log, which must not contain text that anyone can send. Facebook sends only an `error_code` if the app is not set up. */
function shownErrorOf(request: RelayRequest): string {
  const error = request.query('error');
  if (error) return STANDARD_ERRORS.has(error) ? error : 'other';
  return request.query('error_code') ? 'error_code' : 'none';
}

/** The page for a user who declined, though the provider does not say `access_denied`. The device's result stays the same. */
export function cancelledPageOf(outcome: OutcomeName, request: RelayRequest): OutcomeName {
  if (!hasUserCancelled(request)) return outcome;
  if (outcome === 'authorization_failed') return 'user_cancelled';
  return outcome === 'missing_code' ? 'user_cancelled_without_error' : outcome;
}

/** Distinguishes a provider that refused for a reason from one that failed. */
function pageOf({ outcome, failure }: EndedCallback<TokenFailure>, request: RelayRequest) {
  const error = request.query('error');
  const cancelled = cancelledPageOf(outcome, request);
  if (cancelled !== outcome) return cancelled;
  if (outcome === 'authorization_failed') {
    return error === 'server_error' || error === 'temporarily_unavailable'
      ? outcome
      : 'authorization_refused';
  }
  return failure !== undefined && isRefusal(failure) ? 'exchange_refused' : outcome;
}

export function errorOf(error: string | undefined): ErrorResult['error'] {
  if (!error) return 'missing_code';
  return error === 'access_denied' ? error : 'authorization_failed';
}

/** Errors that are logged as they are. Anyone can send any other text to a callback. */
const STANDARD_ERRORS: ReadonlySet<string> = new Set([
  /* RFC 6749 §4.1.2.1. */
  'invalid_request',
  'unauthorized_client',
  'unsupported_response_type',
  'invalid_scope',
  'server_error',
  'temporarily_unavailable',
  /* OpenID Connect Core §3.1.2.6. */
  'interaction_required',
  'login_required',
  'account_selection_required',
  'consent_required',
  'invalid_request_uri',
  'invalid_request_object',
  'request_not_supported',
  'request_uri_not_supported',
  'registration_not_supported',
  /* Some providers redirect with these too, such as GitHub. */
  'redirect_uri_mismatch',
  'invalid_redirect_uri',
  'invalid_client',
]);
