/**
 * What is between a code, or with CONFIRM=always a link, and the provider: the
 * person is told who asks, and decides. A GET changes nothing, so neither does
 * a link preview; what a person decided changes something once. RFC 8628 §5.4.
 */
import { log } from '../../operate/log.ts';
import type { Found } from '../../relay/store.ts';
import { createAdmitByBoth, retryAfter } from '../admission.ts';
import { redirectAnswer } from '../answers.ts';
import { serviceOf } from '../auth/browser.ts';
import type { AuthDoorOptions } from '../door-options.ts';
import { RETRY_DISCOVERY, refuse, refuseMethod } from '../errors.ts';
import type { Handler } from '../guard.ts';
import type { RequestContext } from '../request-context.ts';
import { basePathOf } from '../request-path.ts';
import { formatUserCode, parseUserCode, shortLinkOf } from '../user-code.ts';
import { createReadChoice } from './choice.ts';
import { type Continued, createContinued } from './continued.ts';
import type { PersonPages } from './pages.ts';

/** `/L/XXXX-XXXX`. Deciding uses the code up, whichever way. */
export function createConfirmCode(options: AuthDoorOptions, pages: PersonPages): Handler {
  const { relay, confirm, baseUrl } = options;
  const basePath = basePathOf(baseUrl);
  const admitTry = createAdmitByBoth(options.admit, options.codeLimits, options.clock);
  const readChoice = createReadChoice(options);
  const continued = createContinued(options);
  const carryOut = createCarryOut(options, pages, continued);

  async function findContinued(c: RequestContext, userCode: string): Promise<Found | undefined> {
    const browserState = continued.browserStateOf(c, userCode);
    return browserState === undefined ? undefined : relay.find({ browserState });
  }

  return async (c, requestId) => {
    const { req } = c;
    if (req.method !== 'GET' && req.method !== 'POST') return refuseMethod('GET, POST');
    const userCode = parseUserCode(req.path.split('/')[2] ?? '');
    if (userCode === undefined) return pages.codeFormAgain('code_unknown', req);
    // One address for each code: a cookie is kept for one path, and no cookie's path holds a `;`.
    if (req.path !== shortLinkOf('', userCode)) {
      return redirectAnswer(shortLinkOf(basePath, userCode), req.method === 'GET' ? 302 : 303);
    }
    const choice = await readChoice(req);
    const decision = choice ?? (confirm === 'never' ? 'continue' : 'ask');
    // Whoever comes back tries no code, so the code is not looked up and nothing is counted:
    // the answer is that of their own sign-in, whatever the code.
    const returning = await findContinued(c, userCode);
    if (returning) {
      return carryOut(c, requestId, { decision, found: returning, userCode, isReturning: true });
    }
    // Before the look-up, so that a refusal tells nothing of the code.
    const attempt = await admitTry(c);
    if (!attempt.ok) {
      if (attempt.refusal === 'invalid_client_address') return refuse(attempt.refusal);
      return pages.tell('too_many_tries', req, retryAfter(attempt));
    }
    const found = await (choice ? relay.useCode(userCode) : relay.find({ userCode }));
    if (found === undefined) {
      return pages.codeFormAgain('code_unknown', req, formatUserCode(userCode));
    }
    // Only wrong codes count.
    await attempt.refund();
    return carryOut(c, requestId, { decision, found, userCode });
  };
}

/** `/auth/<service>?state=` with CONFIRM=always; other settings lead on at once, as `protocol.md` §4 says. */
export function createConfirmLink(options: AuthDoorOptions, pages: PersonPages): Handler {
  const { relay, providers } = options;
  const readChoice = createReadChoice(options);
  const carryOut = createCarryOut(options, pages, createContinued(options));

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
  /** Of the page that asks; absent on the page of the long link. */
  readonly userCode?: string;
  /** A cookie led here, which anybody may have written: nothing says that the code is this sign-in's. */
  readonly isReturning?: boolean;
}

function createCarryOut(
  { relay, providers }: AuthDoorOptions,
  pages: PersonPages,
  continued: Continued,
) {
  return async (
    { req }: RequestContext,
    requestId: string,
    decided: Decided,
  ): Promise<Response> => {
    const { decision, found, userCode, isReturning } = decided;
    const { service, browserState } = found;
    const enabled = providers.get(service);
    if (enabled === undefined) return pages.tell('link_invalid', req);
    if (decision === 'decline') {
      const isTold = await relay.decline(service, browserState);
      if (!isTold) return pages.tell('link_invalid', req);
      log.info('sign_in_finished', { requestId, service, outcome: 'declined' });
      return pages.tell('declined', req);
    }
    if (enabled === 'undiscovered') {
      const answer = pages.tell('undiscovered', req, RETRY_DISCOVERY);
      // The code is used by now: only the cookie leads this browser back.
      const isUsed = decision === 'continue' && req.method === 'POST' && userCode !== undefined;
      if (isUsed) continued.remember(answer, found, userCode);
      return answer;
    }
    if (decision === 'ask') {
      const shownCode = isReturning ? undefined : userCode;
      return pages.confirm(req, found, enabled.provider.displayName, shownCode);
    }
    const opened = await relay.open(service, browserState);
    if (opened === undefined) return pages.tell('link_invalid', req);
    const authorizeUrl = enabled.authorizeUrl({ browserState, ...opened });
    // With CONFIRM=never a GET leads on: nothing was decided, so the code is still good.
    if (req.method === 'GET') return redirectAnswer(authorizeUrl);
    const answer = redirectAnswer(authorizeUrl, 303);
    continued.remember(answer, found, userCode);
    return answer;
  };
}
