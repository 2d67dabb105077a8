/**
 * What is between a code, or with CONFIRM=always a link, and the provider: the
 * person is told who asks, and decides. A GET changes nothing, so neither does
 * a link preview; what a person decided changes something once. RFC 8628 §5.4.
 */
import { log } from '../../operate/log.ts';
import type { Found } from '../../relay/store.ts';
import { retryAfter } from '../admission.ts';
import { redirectAnswer } from '../answers.ts';
import { serviceOf } from '../auth/browser.ts';
import type { AuthDoorOptions } from '../door-options.ts';
import { RETRY_DISCOVERY, refuse, refuseMethod } from '../errors.ts';
import type { Handler } from '../guard.ts';
import type { RequestContext } from '../request-context.ts';
import { formatUserCode, parseUserCode } from '../user-code.ts';
import { createReadChoice } from './choice.ts';
import { createLimitTries } from './limits.ts';
import type { PersonPages } from './pages.ts';
import { createReturning } from './returning.ts';

/** `/L/XXXX-XXXX`. Deciding uses the code up, whichever way. */
export function createConfirmCode(options: AuthDoorOptions, pages: PersonPages): Handler {
  const { relay, confirm } = options;
  const limitTries = createLimitTries(options);
  const readChoice = createReadChoice(options);
  const returning = createReturning(options);
  const carryOut = createCarryOut(options, pages);

  async function findAgain(c: RequestContext): Promise<Found | undefined> {
    const browserState = returning.browserStateOf(c);
    return browserState === undefined ? undefined : relay.find({ browserState });
  }

  return async (c, requestId) => {
    const { req } = c;
    if (req.method !== 'GET' && req.method !== 'POST') return refuseMethod('GET, POST');
    const userCode = parseUserCode(req.path.split('/')[2] ?? '');
    if (userCode === undefined) return pages.codeFormAgain('code_unknown', req);
    const choice = await readChoice(req);
    // Before the look-up, so that a refusal tells nothing of the code.
    const attempt = await limitTries(c);
    if (!attempt.ok) {
      if (attempt.refusal === 'invalid_client_address') return refuse(attempt.refusal);
      return pages.tell('too_many_tries', req, retryAfter(attempt));
    }
    const byCode = await (choice ? relay.useCode(userCode) : relay.find({ userCode }));
    const found = byCode ?? (await findAgain(c));
    if (found === undefined) {
      return pages.codeFormAgain('code_unknown', req, formatUserCode(userCode));
    }
    await attempt.forgive();
    const decision = choice ?? (confirm === 'never' ? 'continue' : 'ask');
    const answer = await carryOut(c, requestId, { decision, found, userCode });
    return choice === 'continue' ? returning.remember(c, answer, found.browserState) : answer;
  };
}

/** `/auth/<service>?state=` with CONFIRM=always; other settings lead on at once, as `protocol.md` §4 says. */
export function createConfirmLink(options: AuthDoorOptions, pages: PersonPages): Handler {
  const { relay, providers } = options;
  const readChoice = createReadChoice(options);
  const carryOut = createCarryOut(options, pages);

  return async (c, requestId) => {
    const { req } = c;
    if (req.method !== 'GET' && req.method !== 'POST') return refuseMethod('GET, POST');
    const service = serviceOf(req.path);
    if (!providers.has(service)) return refuse('not_found');
    const decision = (await readChoice(req)) ?? 'ask';
    const found = await relay.find({ browserState: req.query('state') ?? '' });
    if (found?.service !== service) return pages.tell('link_invalid', req);
    return carryOut(c, requestId, { decision, found });
  };
}

interface Decided {
  readonly decision: 'continue' | 'decline' | 'ask';
  readonly found: Found;
  readonly userCode?: string;
}

function createCarryOut({ relay, providers }: AuthDoorOptions, pages: PersonPages) {
  return async (
    { req }: RequestContext,
    requestId: string,
    decided: Decided,
  ): Promise<Response> => {
    const { decision, found, userCode } = decided;
    const { service, browserState } = found;
    const enabled = providers.get(service);
    if (enabled === undefined) return pages.tell('link_invalid', req);
    if (enabled === 'undiscovered') return pages.tell('undiscovered', req, RETRY_DISCOVERY);
    if (decision === 'ask') {
      return pages.confirm(req, found, enabled.provider.displayName, userCode);
    }
    if (decision === 'decline') {
      const isTold = await relay.decline(service, browserState);
      if (!isTold) return pages.tell('link_invalid', req);
      log.info('sign_in_finished', { requestId, service, outcome: 'declined' });
      return pages.tell('declined', req);
    }
    const opened = await relay.open(service, browserState);
    if (opened === undefined) return pages.tell('link_invalid', req);
    const status = req.method === 'POST' ? 303 : 302;
    return redirectAnswer(enabled.authorizeUrl({ browserState, ...opened }), status);
  };
}
