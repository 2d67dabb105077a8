/** The session that an answer of `/auth/start` speaks of. */

import type { Answer } from './http.ts';
import type { Session } from './ledger.ts';
import type { Source } from './sources.ts';

/** Lenient on purpose: what is wrong with an answer is for the cases of the start group to say. */
export function readSession(answer: Answer, from: Source): Session | undefined {
  if (answer.status !== 200) return undefined;
  try {
    const { session, url, expiresIn, userCode } = JSON.parse(answer.body) as Record<
      string,
      unknown
    >;
    const link = new URL(String(url));
    if (typeof session !== 'string') return undefined;
    return {
      service: link.pathname.split('/').at(-1) ?? '',
      secret: session,
      state: link.searchParams.get('state') ?? '',
      url: String(url),
      expiresIn: Number(expiresIn),
      ...(typeof userCode === 'string' && { userCode }),
      from,
    };
  } catch {
    return undefined;
  }
}
