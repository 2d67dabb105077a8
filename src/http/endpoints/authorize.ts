/** `GET /auth/<service>`: the link. Changes nothing, so a link preview does no harm. docs/protocol.md, What the browser does. */
import type { Providers } from '../../providers/provider.ts';
import { isCapability } from '../../relay/secrets.ts';
import type { SessionStore } from '../../relay/store.ts';
import type { Handler } from '../app.ts';
import { RETRY_DISCOVERY, type RespondWithPage, redirectResponse, refuse } from '../responses.ts';

export function createAuthorize(
  providers: Providers,
  store: SessionStore,
  respondWithPage: RespondWithPage,
): Handler {
  return (request) => {
    const service = request.parameter;
    const provider = providers.get(service);
    if (provider === undefined) return refuse('not_found');
    if (provider === 'undiscovered') {
      return respondWithPage('undiscovered', request, RETRY_DISCOVERY);
    }
    const browserState = request.query('state') ?? '';
    if (!isCapability(browserState)) return respondWithPage('link_invalid', request);

    const authorization = store.getAuthorization(service, browserState);
    const respond = (found: Awaited<typeof authorization>) =>
      found === undefined
        ? respondWithPage('link_invalid', request)
        : redirectResponse(provider.authorizeUrl(browserState, found.verifier));
    return authorization instanceof Promise ? authorization.then(respond) : respond(authorization);
  };
}
