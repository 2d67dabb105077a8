/** `GET /auth/<service>`: the link. Ends nothing, so link previews do no harm. docs/protocol.md §5. */
import type { Provider } from '../../providers/provider.ts';
import { findLinkRefusal } from '../../relay/relay.ts';
import { isCapability } from '../../relay/secrets.ts';
import type { Authorization, SessionStore } from '../../relay/store.ts';
import type { Handler } from '../app.ts';
import type { Providers } from '../enabled-providers.ts';
import type { RelayRequest } from '../request.ts';
import { type PageResponses, redirectResponse } from '../responses.ts';
import type { SignInLog } from '../sign-in-log.ts';

export function createAuthorize(
  providers: Providers,
  store: SessionStore,
  signInLog: SignInLog,
  { respondWithPage }: PageResponses,
): Handler {
  return (request) => {
    const service = request.parameter;
    const lookup = providers.find(service);
    if (!lookup.ok) return lookup;
    const { provider } = lookup;
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
