/** `GET /auth/<service>`: the link. Decides nothing, so link previews do no harm. docs/protocol.md §5. */
import type { Provider, Providers } from '../../providers/provider.ts';
import { findLinkRefusal } from '../../relay/relay.ts';
import { isCapability } from '../../relay/secrets.ts';
import type { Authorization, SessionStore } from '../../relay/store.ts';
import type { Handler } from '../app.ts';
import type { RelayRequest } from '../request.ts';
import { RETRY_DISCOVERY, type RespondWithPage, redirectResponse, refuse } from '../responses.ts';
import type { SignInLog } from '../sign-in-log.ts';

export function createAuthorize(
  providers: Providers,
  store: SessionStore,
  signInLog: SignInLog,
  respondWithPage: RespondWithPage,
): Handler {
  return (request) => {
    const service = request.parameter;
    const provider = providers.get(service);
    if (provider === undefined) return refuse('not_found');
    if (provider === 'undiscovered') {
      return respondWithPage('undiscovered', request, { headers: RETRY_DISCOVERY });
    }
    const browserState = request.query('state') ?? '';
    if (!isCapability(browserState)) return respondWithPage('link_invalid', request);

    const found = store.getAuthorization(service, browserState);
    return found instanceof Promise
      ? found.then((later) => respond(request, provider, browserState, later))
      : respond(request, provider, browserState, found);
  };

  function respond(
    request: RelayRequest,
    provider: Provider,
    browserState: string,
    authorization: Authorization | undefined,
  ): Response | Promise<Response> {
    if (authorization === undefined) {
      return findLinkRefusal(store, browserState).then((refusal) =>
        respondWithPage(refusal, request),
      );
    }
    signInLog.opened(request, provider.name, browserState);
    return redirectResponse(provider.authorizeUrl(browserState, authorization));
  }
}
