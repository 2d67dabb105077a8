/**
 * `GET /auth/<service>/callback`: the provider has redirected the browser. If the browser
 * disconnects, the exchange continues, because the code is spent and the device waits for the
 * tokens. docs/protocol.md §5.
 */
import { log } from '../../log.ts';
import type { TokenFailure } from '../../providers/token-endpoint.ts';
import type { CodeCompletion, Relay } from '../../relay/relay.ts';
import { isCapability, signInIdOf } from '../../relay/secrets.ts';
import type { ErrorResult } from '../../relay/session.ts';
import type { SessionStore } from '../../relay/store.ts';
import type { Handler } from '../app.ts';
import type { ContinueCookies } from '../continue-cookies.ts';
import type { Providers } from '../enabled-providers.ts';
import type { PageResponses } from '../responses.ts';
import { endsSignIn, type SignInLog } from '../sign-in-log.ts';

const OTHER_BROWSER_HINT =
  'with CONFIRM=always a sign-in ends only in the browser in which the user pressed Continue: this was another, or it keeps no cookies';

export function createCallback(
  providers: Providers,
  relay: Relay,
  store: SessionStore,
  cookies: ContinueCookies,
  signInLog: SignInLog,
  { respondWithPage }: PageResponses,
): Handler {
  return async (request) => {
    const service = request.parameter;
    const lookup = providers.find(service);
    if (!lookup.ok) return lookup;
    const { provider } = lookup;
    const browserState = request.query('state') ?? '';
    if (!isCapability(browserState)) return respondWithPage('link_invalid', request);
    if (!cookies.mayComplete(request, browserState)) {
      const found = await store.getSession({ browserState });
      // Stale links are routine.
      if (typeof found !== 'object' || found.service !== service) {
        return respondWithPage('link_invalid', request);
      }
      const signIn = signInIdOf(browserState);
      const hint = OTHER_BROWSER_HINT;
      log.info('callback_without_cookie', { requestId: request.id, service, signIn, hint });
      return respondWithPage('other_browser', request);
    }
    const error = request.query('error');
    const code = request.query('code');
    let ended: CodeCompletion<TokenFailure>;
    // A non-empty error is evaluated first, then an empty code, then the exchange.
    if (error || !code) {
      ended = await relay.completeWithError(service, browserState, errorOf(error));
      if (ended.completion === 'authorization_failed' || ended.completion === 'missing_code') {
        const shown = error && (STANDARD_ERRORS.has(error) ? error : 'other');
        signInLog.authorizationFailed(request, provider, browserState, shown || 'none');
      }
    } else {
      ended = await relay.completeWithCode(provider, browserState, code);
      if (ended.failure !== undefined) {
        signInLog.exchangeFailed(request, provider, browserState, ended.failure);
      }
    }
    const { completion, deviceName } = ended;
    signInLog.finished(request, service, browserState, completion);
    if (!endsSignIn(completion)) return respondWithPage(completion, request);
    // Without a device name it is the page of /auth/done.
    if (completion === 'signed_in' && deviceName === undefined) {
      return respondWithPage(completion, request);
    }
    const names = { deviceName, provider: provider.displayName };
    return respondWithPage(pageOf(ended, error), request, { names });
  };
}

/** The page distinguishes a provider that refuses, for a reason, from one that fails. */
function pageOf({ completion, failure }: CodeCompletion<TokenFailure>, error: string | undefined) {
  if (completion === 'authorization_failed') {
    return error === 'server_error' || error === 'temporarily_unavailable'
      ? completion
      : 'authorization_refused';
  }
  const { status = 0, providerError } = failure ?? {};
  // 429 is temporary. RFC 6585 §4.
  const isRefused =
    providerError !== undefined || (status >= 400 && status < 500 && status !== 429);
  return completion === 'exchange_failed' && isRefused ? 'exchange_refused' : completion;
}

function errorOf(error: string | undefined): ErrorResult['error'] {
  if (!error) return 'missing_code';
  return error === 'access_denied' ? 'access_denied' : 'authorization_failed';
}

/** Errors that are logged as they are. Anyone can send any other text to a callback. */
const STANDARD_ERRORS: ReadonlySet<string> = new Set([
  /* RFC 6749 §4.1.2.1. */
  'invalid_request',
  'unauthorized_client',
  'access_denied',
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
]);
