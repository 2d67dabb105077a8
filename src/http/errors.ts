/** The one place that says what a refusal looks like. `protocol.md` §3 and §7. */
import { failedPage } from '../pages/failed.tsx';
import { signedInPage } from '../pages/signed-in.tsx';
import type { Finish } from '../relay/relay.ts';
import { pageAnswer, textAnswer } from './answers.ts';

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

/** RFC 9110 §15.5.6: a 405 says what is allowed. */
export function refuseMethod(allowed: string): Response {
  return refuse('method_not_allowed', { Allow: allowed });
}

/** What the person sees. `protocol.md` §3, "Also happens". */
const PAGES = {
  signed_in: { status: 200, page: signedInPage },
  access_denied: { status: 200, page: failedPage('Sign-in was cancelled.') },
  authorization_failed: { status: 200, page: failedPage('Sign-in failed. Please try again.') },
  missing_code: {
    status: 400,
    page: failedPage('Sign-in response was incomplete. Please try again.'),
  },
  exchange_failed: {
    status: 502,
    page: failedPage("Couldn't complete sign-in. Please try again."),
  },
  link_invalid: {
    status: 404,
    page: failedPage('This sign-in link is no longer valid. Please start again from the app.'),
  },
  /** The code is not spent, so trying again may work, here or at the next process. */
  draining: { status: 503, page: failedPage("Couldn't complete sign-in. Please try again.") },
  /** A fault of the relay itself. */
  fault: { status: 503, page: failedPage("Couldn't complete sign-in. Please try again.") },
} as const satisfies Record<Finish | 'fault', { status: number; page: string }>;

export function answerWithPage(outcome: keyof typeof PAGES): Response {
  const { status, page } = PAGES[outcome];
  return pageAnswer(status, page);
}
