/** The texts of `protocol.md` §3 and §4 that more than one group looks for. */

export const SERVICE_NOT_FOUND = '404 page not found';
export const METHOD_NOT_ALLOWED = 'Method not allowed';
export const SESSION_NOT_FOUND = 'Session not found';

export const CANCELLED = 'Sign-in was cancelled.';
export const FAILED = 'Sign-in failed. Please try again.';
export const INCOMPLETE = 'Sign-in response was incomplete. Please try again.';
export const NOT_EXCHANGED = "Couldn't complete sign-in. Please try again.";
