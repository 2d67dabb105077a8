/** `wait=0..50` on a poll: for clients that give up sooner than the hold. */

import type { Case, Group } from '../../engine/case.ts';
import { between, holds, matches } from '../../engine/expect.ts';
import { sleep } from '../../engine/wait.ts';
import { expectJson, expectStatus } from '../../wire/answers.ts';
import { expectResult, signIn } from '../../wire/sign-in.ts';
import type { Parked, Target } from '../../wire/target.ts';

const EARLY_SECONDS = 0.5;
const LATE_SECONDS = 3;

function askWith({ send }: Target, secret: string, wait: string) {
  const query = new URLSearchParams({ session: secret, wait });
  return send({ path: `/auth/result?${query}`, timeoutMs: 75_000 });
}

const notHeld: Case = {
  section: 'wait',
  rule: 'wait=0: a pending session is answered 204 at once',
  covers: ['wait.hold'],
  async run({ target, options }) {
    const { secret } = await target.start(options.serviceA);
    const answer = await askWith(target, secret, '0');
    expectStatus(answer, 204);
    holds('seconds', answer.seconds < 2, 'less than 2', answer.seconds);
  },
};

const heldShorter: Case = {
  section: 'wait',
  rule: 'wait=3: held for three seconds, then 204',
  covers: ['wait.hold'],
  async run({ target, options }) {
    const { secret } = await target.start(options.serviceA);
    const answer = await askWith(target, secret, '3');
    expectStatus(answer, 204);
    const asked = Math.min(3, options.pollSeconds);
    between('seconds', answer.seconds, asked - EARLY_SECONDS, asked + LATE_SECONDS);
  },
};

const woken: Case = {
  section: 'wait',
  rule: 'a completion ends the wait, and what is there is given whatever the wait',
  covers: ['wait.hold', 'wait.bounds'],
  async run(bench) {
    const { target, provider, options } = bench;
    const session = await target.start(options.serviceB);
    const waiting: Parked['answer'] = askWith(target, session.secret, '40');
    await sleep(300);
    const { code, result } = provider.grant();
    await target.callback(session, { code });
    const answer = await waiting;
    expectJson(answer, { ...result });
    holds('seconds', answer.seconds < 5, 'less than 5', answer.seconds);
    for (const wait of ['0', '1', '50']) {
      const done = await signIn(bench, options.serviceA);
      expectJson(await askWith(target, done.session.secret, wait), { ...done.result });
    }
  },
};

const bounds: Case = {
  section: 'wait',
  rule: 'anything but a whole number from 0 to 50 is 400 plain text, and claims nothing',
  covers: ['wait.bounds'],
  async run(bench) {
    const { session, result } = await signIn(bench, bench.options.serviceA);
    for (const wait of ['51', '-1', '1.5', '1e1', '0x5', 'abc', '', ' ', '999999999999']) {
      const answer = await askWith(bench.target, session.secret, wait);
      expectStatus(answer, 400);
      matches('Content-Type', answer.headers['content-type'], /^text\/plain\s*(;|$)/i);
      matches('body', answer.body, /^.+\n$/);
    }
    await expectResult(bench, session, { ...result });
  },
};

export const wait: Group = {
  name: 'wait',
  about: 'a device says how long it can wait',
  extension: 'wait',
  pace: 'at-once',
  cases: [notHeld, heldShorter, woken, bounds],
};
