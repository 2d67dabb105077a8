/** What a person does with a user code, and what they are shown. */

import { identityOf } from '../command/environment.ts';
import type { Bench } from '../engine/case.ts';
import { equal, holds, present } from '../engine/expect.ts';
import { sleep } from '../engine/wait.ts';
import { codePath, formCall } from './addresses.ts';
import { expectJson, expectNoStore, expectStatus, readHtml } from './answers.ts';
import type { Answer } from './http.ts';
import type { Session } from './ledger.ts';
import type { Source } from './sources.ts';
import type { Target } from './target.ts';

export type WithCode = Session & { readonly userCode: string };

export async function startWithCode(
  { target, options }: Bench,
  extra: object = {},
  service = options.serviceA,
): Promise<WithCode> {
  const session = await target.start(service, undefined, { code: true, ...extra });
  return { ...session, userCode: present('userCode', session.userCode) };
}

export function openCode({ target }: Bench, userCode: string, from?: Source): Promise<Answer> {
  return target.send({ path: codePath(userCode), ...(from && { from }) });
}

export function typeCode({ target }: Bench, code: string): Promise<Answer> {
  return target.send(formCall('/link', { code }));
}

/** Sent on to the page of the code, in the one spelling of its address. */
export function expectLedToCode({ options }: Bench, answer: Answer, userCode: string): void {
  holds('status', [302, 303].includes(answer.status), '302 or 303', answer.status);
  const location = present('Location', answer.headers.location);
  const { pathname } = new URL(location, `${options.publicUrl}/link`);
  const below = new URL(options.publicUrl).pathname.replace(/\/$/, '');
  equal('Location', pathname, `${below}${codePath(userCode)}`);
}

/** On the way to the provider, as after the plain link. */
export function expectOnTheWay(
  { options }: Bench,
  answer: Answer,
  session: Session,
  status = 303,
): void {
  expectStatus(answer, status);
  const location = new URL(present('Location', answer.headers.location));
  const { authorizeUrl, clientId } = identityOf(options, session.service);
  equal('address', location.origin + location.pathname, authorizeUrl);
  equal('client_id', location.searchParams.get('client_id'), clientId);
  if (session.state) equal('state', location.searchParams.get('state'), session.state);
}

/** The page that asks: two buttons of one form, and of the session nothing that could sign in. */
export function expectAsked(answer: Answer, session: Session): void {
  expectStatus(answer, 200);
  expectNoStore(answer);
  readHtml(answer);
  for (const choice of ['continue', 'decline']) {
    const button = new RegExp(`<button[^>]*value="${choice}"`);
    holds('page', button.test(answer.body), `a button '${choice}'`, 'none');
  }
  const shown = [session.secret, session.state].some((each) => each && answer.body.includes(each));
  holds('page', !shown, 'neither state nor secret', 'one of them');
}

/** A page for the person, and at once the news for the device that waits. */
export async function expectDeclined(target: Target, session: Session): Promise<void> {
  const waiting = target.park(session.secret);
  await sleep(300);
  const answer = await target.decide(session, 'decline');
  expectStatus(answer, 200);
  readHtml(answer);
  const told = await waiting.answer;
  expectJson(told, { error: 'access_denied' });
  holds('seconds', told.seconds < 5, 'less than 5', told.seconds);
}
