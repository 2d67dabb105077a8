/** What a user does with a code and on the confirmation page, and what the relay shows. */

import * as expect from './answers.ts';
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
