/** What a user does with a code and on the confirmation page, and what the relay shows. */

import * as expect from './answers.ts';
import { sleep } from './async.ts';
import { equal, holds, present } from './expect.ts';
import { type Answer, type ClientAddress, formCall } from './http.ts';
import { registrationAt } from './options.ts';
import { codePath, type Session, type StartFields } from './relay.ts';
import type { Kit } from './runner.ts';

export async function startWithCode({ relay }: Kit, fields: StartFields = {}) {
  const session = await relay.start({ code: true, ...fields });
  return { ...session, userCode: present('userCode', session.userCode) };
}

export function openCode({ relay }: Kit, userCode: string, from: ClientAddress): Promise<Answer> {
  return relay.send({ path: codePath(userCode), from });
}

export function typeCode({ relay }: Kit, code: string): Promise<Answer> {
  return relay.send(formCall('/link', { code }));
}

/** Types what cannot be a code. Returns the page to which that redirects. */
export async function mistypeCode(kit: Kit, code: string): Promise<Answer> {
  const answer = await typeCode(kit, code);
  expect.status(answer, 303);
  const location = present('Location', answer.headers.location);
  return kit.relay.send({ path: `/link${new URL(location, kit.options.baseUrl).search}` });
}

/** A redirect to the page of the code, whose address has one spelling only. */
export function expectRedirectToCode({ options }: Kit, answer: Answer, userCode: string): void {
  holds('status', [302, 303].includes(answer.status), '302 or 303', answer.status);
  const location = present('Location', answer.headers.location);
  const { pathname } = new URL(location, `${options.baseUrl}/link`);
  const basePath = new URL(options.baseUrl).pathname.replace(/\/$/, '');
  equal('Location', pathname, `${basePath}${codePath(userCode)}`);
}

/** A redirect to the provider. Returns the state in it. */
export function expectRedirectToProvider({ options }: Kit, answer: Answer, session: Session) {
  const { origin, pathname, searchParams } = expect.location(answer, 303);
  const { authorizeUrl, clientId } = registrationAt(options, session.service);
  equal('authorization endpoint', origin + pathname, authorizeUrl);
  equal('client_id', searchParams.get('client_id'), clientId);
  // A device does not choose it.
  equal('scope', searchParams.get('scope'), null);
  const state = present('state', searchParams.get('state') ?? undefined);
  if (session.state) equal('state', state, session.state);
  return state;
}

/** The user presses Continue on the page of a code. Returns the session with its browser state. */
export async function continueToProvider(kit: Kit, session: Session): Promise<Session> {
  const answer = await kit.relay.decide(session, 'continue');
  const opened = { ...session, state: expectRedirectToProvider(kit, answer, session) };
  kit.relay.keep(opened);
  return opened;
}

/** The confirmation page: two buttons of one form, and no secret of the session. */
export function expectConfirmationPage(answer: Answer, session: Session): void {
  expect.status(answer, 200);
  expect.noStore(answer);
  expect.html(answer);
  for (const choice of ['continue', 'decline']) {
    const isButton = (tag: string) => tag.includes(` value="${choice}"`);
    const buttons = answer.body.match(/<button[^<>]*>/g) ?? [];
    holds('page', buttons.some(isButton), `a button '${choice}'`, buttons);
  }
  const secrets = [session.pollSecret, session.state].filter(Boolean);
  const isShown = secrets.some((secret) => answer.body.includes(secret));
  holds('page', !isShown, 'no state and no poll secret', 'one of them');
}

/** The user declines: a page in the browser, and `access_denied` at once for the device that polls. */
export async function expectDeclined({ relay }: Kit, session: Session): Promise<void> {
  const parked = relay.park(session);
  await sleep(300);
  const page = await relay.decide(session, 'decline');
  expect.status(page, 200);
  expect.html(page);
  const answer = await parked.answer;
  expect.json(answer, { error: 'access_denied' });
  expect.atOnce(answer);
}

/** A user who presses a button once more after the sign-in has ended: the page says how it ended. */
export async function expectSameEnding({ relay }: Kit, session: Session): Promise<void> {
  const pages = [
    await relay.decide(session, 'continue'),
    await relay.decide(session, 'decline'),
    await relay.decide(session, 'decline'),
  ];
  for (const page of pages) {
    expect.status(page, 200);
    holds('page', !/<(?:form|button)/.test(page.body), 'nothing left to decide', page.body);
  }
  equal('different texts', new Set(pages.map((page) => expect.html(page).text)).size, 1);
}
