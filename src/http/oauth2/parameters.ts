/** Parameters of a request at the door of RFC 8628: a form, or JSON as some clients send it. */
import { OAUTH_BODY_BYTES } from '../../limits.ts';
import type { Deadlines } from '../../relay/deadlines.ts';
import { parseParameters } from '../parameters.ts';
import { parseMembers, readBody } from '../request-body.ts';

const READ = new Set(['grant_type', 'device_code', 'refresh_token', 'scope', 'device']);

/** The two grants there are. RFC 8628 §3.4, RFC 6749 §6. */
export const DEVICE_CODE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
export const REFRESH_GRANT = 'refresh_token';

export type Parameters = ReadonlyMap<string, string>;

/**
 * Undefined for what cannot be read, is too long, or holds a parameter twice
 * (RFC 6749 §3.2). An empty parameter counts as left out (§3.1); others than
 * those are for nobody, and some may come twice (RFC 8707 §2).
 */
export async function readParameters(
  request: Request,
  deadlines: Deadlines,
): Promise<Parameters | undefined> {
  try {
    const { text, isCut } = await readBody(request, OAUTH_BODY_BYTES, deadlines);
    if (isCut) return undefined;
    const isJson = /^application\/json\b/i.test(request.headers.get('content-type') ?? '');
    const pairs = isJson ? Object.entries(parseMembers(text)) : [...parseParameters(text)];
    const read = pairs.filter((pair): pair is [string, string] => {
      const [name, value] = pair;
      return READ.has(name) && typeof value === 'string' && value !== '';
    });
    const parameters = new Map(read);
    return parameters.size === read.length ? parameters : undefined;
  } catch {
    return undefined;
  }
}

/** RFC 7240 §4.3: how many seconds the client would wait; 0 when it does not say. */
export function parsePreferredWait(prefer: string | undefined): number {
  const wait = /(?:^|[,;])\s*wait\s*=\s*"?(\d{1,6})"?\s*(?=$|[,;])/i.exec(prefer ?? '');
  return Number(wait?.[1] ?? 0);
}
