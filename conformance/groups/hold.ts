/** How long a poll is held: `protocol.md` §4, §8. A rule of the protocol, since devices set their timeouts by it. */

import type { Case, Group } from '../engine/case.ts';
import { between, equal, holds } from '../engine/expect.ts';
import { sleep } from '../engine/wait.ts';
import { expectJson, expectNoStore, expectStatus } from '../wire/answers.ts';
import type { Answer } from '../wire/http.ts';

const EARLY_SECONDS = 1;
const LATE_SECONDS = 3;

function expectHeld(answer: Answer, pollSeconds: number): void {
  expectStatus(answer, 204);
  equal('body', answer.body, '');
  between('seconds', answer.seconds, pollSeconds - EARLY_SECONDS, pollSeconds + LATE_SECONDS);
}

const held: Case = {
  section: '3, 4, 8',
  rule: 'a poll of a pending session is held, then answered 204 with an empty body and no-store',
  covers: ['3.hold', '4.result-pending', '8.hold', '4.result-no-store'],
  async run({ target, options }) {
    const { secret } = await target.start(options.serviceA);
    const answer = await target.poll(secret);
    expectHeld(answer, options.pollSeconds);
    expectNoStore(answer);
  },
};

const stillPending: Case = {
  section: '3',
  rule: 'after a 204 the session is pending: link, callback and the next poll work as before',
  covers: ['3.hold'],
  async run({ target, provider, options }) {
    const session = await target.start(options.serviceB);
    expectStatus(await target.poll(session.secret), 204);
    expectStatus(await target.open(session), 302);
    const waiting = target.park(session.secret);
    await sleep(300);
    const { code, result } = provider.grant();
    await target.callback(session, { code });
    expectJson(await waiting.answer, { ...result });
  },
};

const manyHeld: Case = {
  section: '3 rule 4, 4',
  rule: 'several polls of one session are each held for the whole time',
  covers: ['3.rule-4', '8.hold'],
  async run({ target, options }) {
    const { secret } = await target.start(options.serviceA);
    const first = target.park(secret);
    await sleep(Math.min(5_000, options.pollSeconds * 500));
    const second = target.park(secret);
    const answers = await Promise.all([first.answer, second.answer]);
    for (const answer of answers) expectHeld(answer, options.pollSeconds);
  },
};

const lateCompletion: Case = {
  section: '3 rule 4',
  rule: 'a completion shortly before the hold ends is delivered by the held poll',
  covers: ['3.rule-4', '8.hold'],
  async run({ target, provider, options }) {
    const session = await target.start(options.serviceA);
    const waiting = target.park(session.secret);
    const completeAfter = options.pollSeconds * 0.9;
    await sleep(completeAfter * 1000);
    const { code, result } = provider.grant();
    await target.callback(session, { code });
    const answer = await waiting.answer;
    expectJson(answer, { ...result });
    const waited = answer.seconds > completeAfter - EARLY_SECONDS;
    holds('seconds', waited, `about ${completeAfter}`, answer.seconds);
  },
};

export const hold: Group = {
  name: 'hold',
  about: 'how long a poll is held: 50 seconds',
  pace: 'at-once',
  cases: [held, stillPending, manyHeld, lateCompletion],
};
