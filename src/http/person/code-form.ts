/** `POST /link`: the code that a person has typed becomes its address. RFC 8628 §3.3. */
import { CODE_FORM_BYTES, START_BODY_DEADLINE_MS } from '../../limits.ts';
import { createDeadlines } from '../../relay/deadlines.ts';
import { redirectAnswer } from '../answers.ts';
import type { AuthDoorOptions } from '../door-options.ts';
import type { Handler } from '../guard.ts';
import { readForm } from '../request-body.ts';
import { basePathOf } from '../request-path.ts';
import { parseUserCode, shortLinkOf } from '../user-code.ts';
import type { PersonPages } from './pages.ts';

/**
 * Looks nothing up, so it may be asked by anybody and as often as they like:
 * the address it leads to is what is limited.
 */
export function createTakeCode({ clock, baseUrl }: AuthDoorOptions, pages: PersonPages): Handler {
  const deadlines = createDeadlines(clock, START_BODY_DEADLINE_MS);
  // Only the path, because the form may have been opened by another of the relay's names.
  const basePath = basePathOf(baseUrl);
  return async ({ req }) => {
    const form = await readForm(req.raw, CODE_FORM_BYTES, deadlines);
    const written = form.get('code') ?? '';
    const userCode = parseUserCode(written);
    if (userCode === undefined) return pages.codeFormAgain('code_incomplete', req, written);
    return redirectAnswer(shortLinkOf(basePath, userCode), 303);
  };
}
