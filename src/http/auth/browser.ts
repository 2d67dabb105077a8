/** What the person's browser asks for: the link, and the way back from the provider. `protocol.md` §4. */
import { log } from '../../operate/log.ts';
import { nameAuthorizationError } from '../../providers/authorization-errors.ts';
import type { EnabledProvider } from '../../providers/enabled.ts';
import type { Callback, Exchange } from '../../relay/relay.ts';
import { redirectAnswer } from '../answers.ts';
import type { AuthDoorOptions } from '../door-options.ts';
import { type AnswerWithPage, RETRY_DISCOVERY, refuse, refuseMethod } from '../errors.ts';
import type { Handler } from '../guard.ts';
import { createContinued } from '../person/continued.ts';

/** `GET /auth/<service>`. Changes nothing, so a link preview does no harm. */
export function createAuthorize(
  { relay, providers }: AuthDoorOptions,
  answerWithPage: AnswerWithPage,
): Handler {
  return async ({ req }) => {
    if (req.method !== 'GET') return refuseMethod('GET');
    const service = serviceOf(req.path);
    const enabled = providers.get(service);
    if (enabled === undefined) return refuse('not_found');
    if (enabled === 'undiscovered') return answerWithPage('undiscovered', req, RETRY_DISCOVERY);
    const browserState = req.query('state') ?? '';
    const opened = await relay.open(service, browserState);
    if (opened === undefined) return answerWithPage('link_invalid', req);
    return redirectAnswer(enabled.authorizeUrl({ browserState, ...opened }));
  };
}

/**
 * `GET /auth/<service>/callback`. Goes on when the browser leaves: the code is
 * spent by then, and the device waits for the tokens.
 */
export function createCallback(options: AuthDoorOptions, answerWithPage: AnswerWithPage): Handler {
  const { relay, providers, exchange, upstreamLimit } = options;
  const { mayFinish } = createContinued(options);

  function exchangeFor(enabled: EnabledProvider, requestId: string): Exchange {
    return async (code, verifier) => {
      const { redirectUri, provider } = enabled;
      const grant = { code, redirectUri, ...(verifier !== undefined && { verifier }) };
      const outcome = await exchange(provider, grant);
      if (outcome.ok) return outcome.tokens;
      log.warning('exchange_failed', { requestId, service: provider.name, ...outcome.failure });
      return undefined;
    };
  }

  return async (c, requestId) => {
    const { req } = c;
    if (req.method !== 'GET') return refuseMethod('GET');
    const service = serviceOf(req.path);
    const enabled = providers.get(service);
    if (enabled === undefined) return refuse('not_found');
    if (enabled === 'undiscovered') return answerWithPage('undiscovered', req, RETRY_DISCOVERY);
    const browserState = req.query('state') ?? '';
    if (!mayFinish(c, browserState)) {
      log.debug('callback_without_cookie', { requestId, service });
      return answerWithPage('link_invalid', req);
    }
    const callback = callbackOf(req.query('error'), req.query('code'));
    const exchangeNow = exchangeFor(enabled, requestId);
    const finish = () => relay.finish(service, browserState, callback, exchangeNow);
    // Before the session is touched: a code that is refused here may be brought again.
    const outcome =
      (await (callback.type === 'code' ? upstreamLimit.run(service, finish) : finish())) ?? 'busy';
    if (outcome === 'authorization_failed' && callback.type === 'error') {
      const providerError = nameAuthorizationError(callback.error);
      log.warning('authorization_failed', { requestId, service, providerError });
    }
    // Stale links are routine, and a sign-in that is busy is not finished.
    const level = outcome === 'link_invalid' || outcome === 'busy' ? 'debug' : 'info';
    log[level]('sign_in_finished', { requestId, service, outcome });
    return answerWithPage(outcome, req);
  };
}

/** The segment as it was sent; Hono's parameter would be decoded, and `%6dal` is not `mal`. */
export function serviceOf(path: string): string {
  return path.split('/')[2] ?? '';
}

/** A non-empty error first, then an empty code, then the exchange. `protocol.md` §4. */
function callbackOf(error: string | undefined, code: string | undefined): Callback {
  if (error) return { type: 'error', error };
  return code ? { type: 'code', code } : { type: 'nothing' };
}
