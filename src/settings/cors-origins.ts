import { z } from 'zod';
import { splitList } from './split-list.ts';

/**
 * Origins that an operator lists, to be compared to the letter with what a
 * browser sends as `Origin`. So each must be written as a browser writes it:
 * RFC 6454 §6.2, and https://fetch.spec.whatwg.org/#origin-header.
 */

/** Of sandboxed frames and local files; the latter are `file://` in some web views of televisions. */
const WITHOUT_HOST = ['null', 'file://'];

export const corsOrigins = z
  .string()
  // Not quoted, as other problems are: what stands before the @ may be a password.
  .refine(
    (written) => !written.includes('@'),
    'must be origins, without user name and password (@)',
  )
  .transform(splitList)
  .superRefine((origins, context) => {
    for (const origin of origins) {
      const message = findOriginProblem(origin, origins);
      if (message) context.addIssue({ code: 'custom', message });
    }
  });

function findOriginProblem(origin: string, all: readonly string[]): string | undefined {
  if (origin === '*') return all.length === 1 ? undefined : 'must hold * alone or not at all';
  if (origin.includes('*')) return `must hold * alone, not within an origin as in ${origin}`;
  const right = WITHOUT_HOST.includes(origin) ? origin : asBrowsersWrite(origin);
  if (right === undefined) {
    return `must be origins such as https://tv.example, or null, file:// or *; ${origin} is none`;
  }
  return right === origin ? undefined : `must hold ${right} in place of ${origin}`;
}

/** Scheme, host and port alone; undefined when there is no host. */
function asBrowsersWrite(origin: string): string | undefined {
  // The parser would mend `https:host` and back slashes; a person who wrote them meant something else.
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^\\]*$/i.test(origin) || !URL.canParse(origin)) return undefined;
  const { protocol, host } = new URL(origin);
  if (protocol === 'file:') return 'file://';
  return host ? `${protocol}//${host}` : undefined;
}
