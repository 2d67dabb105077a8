/** The usual ways of getting a session into a state, for cases about something else. */

import type { Bench } from '../engine/case.ts';
import type { Grant } from '../provider/played-provider.ts';
import type { Reply } from '../provider/replies.ts';
import { expectJson, expectSuccessPage } from './answers.ts';
import type { Answer } from './http.ts';
import type { Session } from './ledger.ts';

export interface SignedIn extends Grant {
  readonly session: Session;
  readonly page: Answer;
}

/** A session that is completed with tokens and not yet claimed. */
export async function signIn(bench: Bench, service: string): Promise<SignedIn> {
  const session = await bench.target.start(service);
  const grant = bench.provider.grant();
  const page = await bench.target.callback(session, { code: grant.code });
  expectSuccessPage(page);
  return { session, page, ...grant };
}

export interface Exchanged {
  readonly session: Session;
  readonly code: string;
  readonly page: Answer;
}

/** A session whose code was answered so at the token endpoint. */
export async function exchange(bench: Bench, service: string, reply: Reply): Promise<Exchanged> {
  const session = await bench.target.start(service);
  const code = bench.provider.plan(reply);
  const page = await bench.target.callback(session, { code });
  return { session, code, page };
}

/** The poll of a completed session answers with this, and at once. */
export async function expectResult(
  bench: Bench,
  session: Session,
  fields: Readonly<Record<string, unknown>>,
): Promise<void> {
  expectJson(await bench.target.poll(session.secret), fields);
}
