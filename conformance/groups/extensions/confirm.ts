/** CONFIRM=always: the plain link asks as well. Such a target fails `authorize`, so this group runs by itself. */

import type { Case, Group } from '../../engine/case.ts';
import { equal } from '../../engine/expect.ts';
import { callbackPath, formCall, linkPath } from '../../wire/addresses.ts';
import { expectDeadLink, expectStatus, expectText } from '../../wire/answers.ts';
import { SERVICE_NOT_FOUND } from '../../wire/messages.ts';
import { expectAsked, expectDeclined, expectOnTheWay, startWithCode } from '../../wire/person.ts';
import { expectResult } from '../../wire/sign-in.ts';

const asks: Case = {
  section: 'confirm',
  rule: 'the link asks, its page holds neither state nor secret, and opening it changes nothing',
  covers: ['confirm.link'],
  async run({ target, options }) {
    for (const service of [options.serviceA, options.serviceB]) {
      const session = await target.start(service);
      for (const _ of [1, 2]) expectAsked(await target.open(session), session);
    }
  },
};

const goesOn: Case = {
  section: 'confirm',
  rule: 'continue: 303 to the provider, and the sign-in ends as ever',
  covers: ['confirm.decide'],
  async run(bench) {
    const { target, provider, options } = bench;
    const session = await target.start(options.serviceA);
    for (const _ of [1, 2]) {
      expectOnTheWay(bench, await target.decide(session, 'continue'), session);
    }
    const { code, result } = provider.grant();
    await target.callback(session, { code });
    await expectResult(bench, session, { ...result });
    expectDeadLink(await target.open(session));
  },
};

const byCode: Case = {
  section: 'confirm',
  rule: 'who was asked at a code is not asked again, and the sign-in ends as ever',
  covers: ['confirm.decide', 'confirm.browser'],
  async run(bench) {
    const { target, provider } = bench;
    const session = await startWithCode(bench);
    expectOnTheWay(bench, await target.decide(session, 'continue'), session);
    const { code, result } = provider.grant();
    await target.callback(session, { code });
    await expectResult(bench, session, { ...result });
  },
};

const otherBrowser: Case = {
  section: 'confirm',
  rule: 'a callback in another browser than that which continued: the 404 page, and nothing happens',
  covers: ['confirm.browser'],
  async run(bench) {
    const { target, provider, options } = bench;
    const session = await target.start(options.serviceA);
    const { code, result } = provider.grant();
    const callbacks = [{ code }, { error: 'access_denied' }, { error: 'server_error' }, {}];
    const comeBack = async () => {
      for (const parameters of callbacks) {
        expectDeadLink(await target.send({ path: callbackPath(session, parameters) }));
      }
    };
    await comeBack();
    await target.decide(session, 'continue');
    await comeBack();
    await target.callback(session, { code });
    await expectResult(bench, session, { ...result });
  },
};

const declined: Case = {
  section: 'confirm',
  rule: 'decline: a page, the waiting device learns access_denied at once, and the link is dead',
  covers: ['confirm.decide'],
  async run({ target, options }) {
    const session = await target.start(options.serviceB);
    await expectDeclined(target, session);
    expectDeadLink(await target.open(session));
    expectDeadLink(await target.decide(session, 'continue'));
  },
};

const foreign: Case = {
  section: 'confirm',
  rule: "another site's form decides nothing: the page asks again",
  covers: ['confirm.decide'],
  async run({ target, options }) {
    const session = await target.start(options.serviceA);
    for (const headers of [
      { 'Sec-Fetch-Site': 'cross-site' },
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
    ]) {
      expectAsked(await target.decide(session, 'continue', headers), session);
      expectAsked(await target.decide(session, 'decline', headers), session);
    }
  },
};

const refused: Case = {
  section: 'confirm',
  rule: 'unknown state, other service: the 404 page; unknown service: 404 text; other method: 405',
  covers: ['confirm.link'],
  async run({ target, options }) {
    const session = await target.start(options.serviceA);
    expectDeadLink(await target.open({ ...session, state: 'A'.repeat(24) }));
    expectDeadLink(await target.open({ ...session, service: options.serviceB }));
    const other = { ...session, service: options.serviceB };
    expectDeadLink(await target.decide(other, 'continue'));
    const nosuch = formCall('/auth/nosuch?state=x', { choice: 'continue' });
    expectText(await target.send(nosuch), 404, SERVICE_NOT_FOUND);
    for (const method of ['HEAD', 'PUT', 'DELETE']) {
      const answer = await target.send({ method, path: linkPath(session) });
      expectStatus(answer, 405);
      equal('Allow', answer.headers.allow, 'GET, POST');
    }
    expectAsked(await target.open(session), session);
  },
};

export const confirm: Group = {
  name: 'confirm',
  about: 'CONFIRM=always: the plain link asks before it leads on',
  extension: 'confirm',
  cases: [asks, goesOn, byCode, otherBrowser, declined, foreign, refused],
};
