/** `GET /auth/result`: `protocol.md` §3 and §4. The waiting itself is in hold.ts. */

import type { Case, Group } from '../engine/case.ts';
import { holds } from '../engine/expect.ts';
import { sleep } from '../engine/wait.ts';
import { expectJson, expectStatus, expectText } from '../wire/answers.ts';
import { SESSION_NOT_FOUND } from '../wire/messages.ts';
import { expectResult, signIn } from '../wire/sign-in.ts';

const unknownSecret: Case = {
  section: '4, 7',
  rule: 'a poll secret that is unknown, empty or missing: 410 Session not found, at once',
  covers: ['4.result-unknown', '7.session-not-found', '4.plain-text'],
  async run({ target, options }) {
    const { secret } = await target.start(options.serviceA);
    const swapped = [...secret].reverse().join('');
    const wrong = [secret.slice(0, -1), `${secret}A`, `${secret}=`, swapped, 'A'.repeat(24), ''];
    for (const query of [...wrong.map((each) => `?session=${each}`), '']) {
      const answer = await target.send({ path: `/auth/result${query}` });
      expectText(answer, 410, SESSION_NOT_FOUND);
      holds('seconds', answer.seconds < 2, 'less than 2', answer.seconds);
    }
  },
};

const secondPoll: Case = {
  section: '3 rule 2, 4',
  rule: 'a result is given once: the second poll gets 410 Session not found',
  covers: ['3.claim', '3.rule-2', '4.result-removed', '4.result-unknown', '7.session-not-found'],
  async run(bench) {
    const { session, result } = await signIn(bench, bench.options.serviceA);
    await expectResult(bench, session, { ...result });
    for (const _ of [2, 3]) {
      expectText(await bench.target.poll(session.secret), 410, SESSION_NOT_FOUND);
    }
  },
};

const secondPollOfError: Case = {
  section: '3 rule 2, 4',
  rule: 'an error is a result too: it is given once, then 410',
  covers: ['3.claim', '3.rule-2', '4.result-removed', '4.result-error'],
  async run(bench) {
    const { target, options } = bench;
    const session = await target.start(options.serviceB);
    await target.callback(session, { error: 'access_denied' });
    await expectResult(bench, session, { error: 'access_denied' });
    expectText(await target.poll(session.secret), 410, SESSION_NOT_FOUND);
  },
};

const othersUnharmed: Case = {
  section: '3 rule 3',
  rule: 'claiming one session leaves the others as they were',
  covers: ['3.rule-3'],
  async run(bench) {
    const { target, options } = bench;
    const pending = await target.start(options.serviceA);
    const waiting = target.park(pending.secret);
    const completed = await signIn(bench, options.serviceB);
    const claimed = await signIn(bench, options.serviceA);
    await expectResult(bench, claimed.session, { ...claimed.result });
    expectStatus(await target.open(pending), 302);
    await expectResult(bench, completed.session, { ...completed.result });
    await target.callback(pending, { error: 'access_denied' });
    expectJson(await waiting.answer, { error: 'access_denied' });
  },
};

const errorWakes: Case = {
  section: '3 rule 4, 4',
  rule: 'a parked poll is woken by an error as by tokens',
  covers: ['3.rule-4', '4.result-error'],
  async run({ target, options }) {
    for (const [parameters, error] of [
      [{ error: 'access_denied' }, 'access_denied'],
      [{ error: 'x' }, 'authorization_failed'],
      [{}, 'missing_code'],
      [{ code: 'conformance-unknown-code' }, 'exchange_failed'],
    ] as const) {
      const session = await target.start(options.serviceA);
      const waiting = target.park(session.secret);
      await sleep(100);
      await target.callback(session, parameters);
      const answer = await waiting.answer;
      expectJson(answer, { error });
      holds('seconds', answer.seconds < 3, 'less than 3', answer.seconds);
    }
  },
};

const deviceGone: Case = {
  section: '4',
  rule: 'a device that hung up claims nothing: its next poll gets the tokens',
  covers: ['4.result-pending'],
  async run({ target, provider, options }) {
    for (const pause of [50, 100, 300]) {
      const session = await target.start(options.serviceA);
      const gone = [target.park(session.secret), target.park(session.secret)];
      await sleep(200);
      for (const parked of gone) parked.leave();
      await sleep(pause);
      const { code, result } = provider.grant();
      await target.callback(session, { code });
      expectJson(await target.poll(session.secret), { ...result });
    }
  },
};

const headClaimsNothing: Case = {
  section: '4',
  rule: 'HEAD (or any other method) on a completed session is 405 and claims nothing',
  covers: ['4.result-method', '7.method'],
  async run(bench) {
    const { session, result } = await signIn(bench, bench.options.serviceA);
    const path = `/auth/result?session=${session.secret}`;
    for (const method of ['HEAD', 'POST', 'DELETE', 'OPTIONS']) {
      expectStatus(await bench.target.send({ method, path }), 405);
    }
    await expectResult(bench, session, { ...result });
  },
};

export const result: Group = {
  name: 'result',
  about: 'GET /auth/result: given once',
  cases: [
    unknownSecret,
    secondPoll,
    secondPollOfError,
    othersUnharmed,
    errorWakes,
    deviceGone,
    headClaimsNothing,
  ],
};
