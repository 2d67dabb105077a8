/** The one place that says what a refusal looks like. `protocol.md` §3 and §7. */
import { DISCOVERY_RETRY_MS } from '../limits.ts';
import type { FindPages, LanguagePages } from '../pages/pages.ts';
import type { Finish } from '../relay/relay.ts';
import { pageAnswer, textAnswer } from './answers.ts';
import type { RequestView } from './request-context.ts';

const REFUSALS = {
  invalid_client_address: { status: 400, text: 'Invalid client address' },
  invalid_json: { status: 400, text: 'Invalid JSON' },
  invalid_size: { status: 400, text: 'Invalid size' },
  invalid_wait: { status: 400, text: 'Invalid wait: a whole number from 0 to 50' },
  unknown_service: { status: 400, text: 'Unknown service' },
  malformed_request: { status: 400, text: 'Bad request' },
  not_found: { status: 404, text: '404 page not found' },
  method_not_allowed: { status: 405, text: 'Method not allowed' },
  session_not_found: { status: 410, text: 'Session not found' },
  rate_limited: { status: 429, text: 'Rate limited' },
  busy: { status: 503, text: 'Server busy' },
  draining: { status: 503, text: 'Server busy' },
  not_configured: { status: 503, text: 'OAuth proxy not configured' },
} as const;

export function refuse(refusal: keyof typeof REFUSALS, headers?: Record<string, string>): Response {
  const { status, text } = REFUSALS[refusal];
  return textAnswer(status, text, headers);
}

/** While a provider is undiscovered: when its issuer will have been asked again. RFC 9110 §10.2.3. */
export const RETRY_DISCOVERY = { 'Retry-After': String(DISCOVERY_RETRY_MS / 1_000) };

/** RFC 9110 §15.5.6: a 405 says what is allowed. */
export function refuseMethod(allowed: string): Response {
  return refuse('method_not_allowed', { Allow: allowed });
}

/** What the person sees at the end of the way, or in place of it. `protocol.md` §3, "Also happens". */
const PAGES = {
  signed_in: { status: 200, page: 'signedIn' },
  access_denied: { status: 200, page: 'cancelled' },
  authorization_failed: { status: 200, page: 'failed' },
  missing_code: { status: 400, page: 'incomplete' },
  exchange_failed: { status: 502, page: 'notCompleted' },
  link_invalid: { status: 404, page: 'linkInvalid' },
  /** The code is not spent, so trying again may work, here or at the next process. */
  busy: { status: 503, page: 'notCompleted' },
  /** Neither is it here. */
  undiscovered: { status: 503, page: 'notCompleted' },
  /** A fault of the relay itself. */
  fault: { status: 503, page: 'notCompleted' },
  declined: { status: 200, page: 'declined' },
  too_many_tries: { status: 429, page: 'tooManyTries' },
} as const satisfies Record<
  Finish | 'undiscovered' | 'fault' | 'declined' | 'too_many_tries',
  { status: number; page: keyof LanguagePages }
>;

/** In the language of the request. */
export type AnswerWithPage = (
  outcome: keyof typeof PAGES,
  request: RequestView,
  headers?: Record<string, string>,
) => Response;

export function createAnswerWithPage(findPages: FindPages): AnswerWithPage {
  return (outcome, request, headers) => {
    const { status, page } = PAGES[outcome];
    return pageAnswer(status, findPages(request.header('accept-language'))[page], headers);
  };
}

/** Why a person sees the code form once more. */
const CODE_REFUSALS = {
  code_incomplete: { status: 400, page: 'codeIncomplete' },
  /** Never was, is used, is expired: which, nobody is told. */
  code_unknown: { status: 404, page: 'codeUnknown' },
} as const satisfies Record<string, { status: number; page: keyof LanguagePages }>;

export type CodeRefusal = keyof typeof CODE_REFUSALS;

export function refuseCode(
  refusal: CodeRefusal,
  written: string,
  pages: LanguagePages,
  headers: Record<string, string>,
): Response {
  const { status, page } = CODE_REFUSALS[refusal];
  return pageAnswer(status, pages[page](written), headers);
}
