/** What the demo says at the end, for each way in which it may end. */
import { type Failure, SignInError } from './device.ts';

const FAILURES: Record<Failure, string> = {
  access_denied: 'You pressed Cancel at the provider, so the device got no tokens.',
  authorization_failed: 'The provider would not sign you in. Run the demo again.',
  missing_code: 'The provider sent no code with you. Run the demo again.',
  exchange_failed: 'The provider did not give tokens for the code. Run the demo again.',
  expired: 'Nobody signed in before the link ended. Run the demo again for a new one.',
  refused: 'The relay will not start a sign-in',
  rate_limited: 'Too many sign-ins were started from here. Wait a minute, then run the demo again.',
  unreachable: 'The relay could not be reached',
};

export function describeFailure(error: unknown): string {
  if (!(error instanceof SignInError))
    return error instanceof Error ? error.message : String(error);
  const words = FAILURES[error.code];
  return error.detail && !words.endsWith('.') ? `${words}: ${error.detail}.` : words;
}

/** Enough to tell two apart, too little to use. */
export function shorten(token: string): string {
  return `${token.slice(0, 4)}… (${token.length} characters)`;
}
