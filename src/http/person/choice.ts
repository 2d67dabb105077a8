/** What a person decided on the page that asks: a form of our own, sent from our own page. */
import { CODE_FORM_BYTES, START_BODY_DEADLINE_MS } from '../../limits.ts';
import { createDeadlines } from '../../relay/deadlines.ts';
import type { AuthDoorOptions } from '../door-options.ts';
import { readForm } from '../request-body.ts';
import type { RequestView } from '../request-context.ts';

export type Choice = 'continue' | 'decline';

/** Undefined: nothing was decided, by a GET, by another site's form, or by an unknown answer. */
export type ReadChoice = (request: RequestView) => Promise<Choice | undefined>;

export function createReadChoice({ clock, baseUrl }: AuthDoorOptions): ReadChoice {
  const deadlines = createDeadlines(clock, START_BODY_DEADLINE_MS);
  const { origin } = new URL(baseUrl);
  return async (request) => {
    if (request.method !== 'POST' || !isSameOrigin(request, origin)) return undefined;
    const form = await readForm(request.raw, CODE_FORM_BYTES, deadlines);
    const choice = form.get('choice');
    return choice === 'continue' || choice === 'decline' ? choice : undefined;
  };
}

/**
 * Browsers say where a form comes from, and no page can make them lie. One too
 * old to say either knows the address of the form, which is a secret.
 * https://www.w3.org/TR/fetch-metadata/#sec-fetch-site-header
 */
function isSameOrigin(request: RequestView, origin: string): boolean {
  const site = request.header('sec-fetch-site');
  if (site !== undefined) return site === 'same-origin';
  const sender = request.header('origin');
  return sender === undefined || sender === origin;
}
