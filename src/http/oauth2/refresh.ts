/**
 * `grant_type=refresh_token`: the relay adds what the device cannot hold and
 * passes the provider's answer on. RFC 6749 §6. Nothing is kept of it beyond
 * relay/refresh-answers.ts.
 */
import { log } from '../../operate/log.ts';
import type { Provider } from '../../providers/provider.ts';
import type { TokenFailure, TokenOutcome } from '../../providers/token-endpoint.ts';
import type { OAuthDoorOptions } from '../door-options.ts';
import { logFault } from '../guard.ts';
import type { RequestContext } from '../request-context.ts';
import { describeTokens, oauthAnswer, refuseAdmission, refuseOAuth } from './answers.ts';
import type { Parameters } from './parameters.ts';
import { TOKEN_ROUTE } from './routes.ts';

export type Refresh = (
  c: RequestContext,
  requestId: string,
  provider: Provider,
  parameters: Parameters,
) => Promise<Response>;

export function createRefresh(options: OAuthDoorOptions): Refresh {
  const { admit, refreshLimiter, refreshAnswers, refresh, upstreamLimit } = options;

  const refreshNow: Refresh = async (c, requestId, provider, parameters) => {
    const refreshToken = parameters.get('refresh_token');
    const scope = parameters.get('scope');
    if (refreshToken === undefined) {
      return refuseOAuth('invalid_request', { description: 'refresh_token is missing' });
    }
    const admission = await admit(c, refreshLimiter);
    // To many clients any 400 but a few is the end of their token.
    if (!admission.ok) return refuseAdmission(admission, 429);
    const grant = { refreshToken, ...(scope !== undefined && { scope }) };
    const key = JSON.stringify([provider.name, scope ?? '', refreshToken]);
    const ask = () => upstreamLimit.run(provider.name, () => refresh(provider, grant));
    const outcome = await refreshAnswers.answer(key, ask, isFinal);
    if (outcome === undefined) return refuseUnknown();
    if (outcome.ok) return oauthAnswer(describeTokens(outcome.tokens));
    log.warning('refresh_failed', { requestId, service: provider.name, ...outcome.failure });
    return refuseRefresh(outcome.failure);
  };

  // The net of this address answers for polls; a refresh is not pending, ever.
  return (...request) =>
    refreshNow(...request).catch((error: unknown) => {
      const [, requestId] = request;
      logFault(error, { requestId, route: TOKEN_ROUTE });
      return refuseUnknown();
    });
}

/** Worth repeating for those who ask again: the provider has spoken, and may not say it twice. */
function isFinal(outcome: TokenOutcome | undefined): boolean {
  return outcome !== undefined && (outcome.ok || outcome.failure.refusal !== undefined);
}

/**
 * A device that hears `invalid_grant` throws its tokens away, so it is told
 * that only where the provider refused; where nobody knows, to come again. Not
 * with 400 then, which to some clients means the same as `invalid_grant`.
 */
function refuseRefresh({ refusal }: TokenFailure): Response {
  return refusal === undefined ? refuseUnknown() : refuseOAuth(refusal);
}

function refuseUnknown(): Response {
  return refuseOAuth('temporarily_unavailable', { status: 503 });
}
