/** Parameters of a query or a form, of which strangers may send any number. */
import { MAX_PARAMETERS } from '../limits.ts';

/** What comes after the first MAX_PARAMETERS is left out. */
export function parseParameters(text: string): URLSearchParams {
  return new URLSearchParams(text.split('&', MAX_PARAMETERS).join('&'));
}
