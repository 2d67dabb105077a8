/** `"ack": true`: an answer that was lost on the way costs no sign-in. */

import type { Bench, Case, Group } from '../../engine/case.ts';
import { equal, Skip } from '../../engine/expect.ts';
import { sleep } from '../../engine/wait.ts';
import { expectJson, expectStatus, expectText, readJson } from '../../wire/answers.ts';
import type { Session } from '../../wire/ledger.ts';
import { SESSION_NOT_FOUND } from '../../wire/messages.ts';

const ACK = { ack: true };

function confirm({ target }: Bench, { secret }: Session) {
  return target.send({
    path: `/auth/result?${new URLSearchParams({ session: secret, ack: '1' })}`,
  });
}

/** A session that confirms, completed and not fetched. */
async function complete(bench: Bench) {
  const { target, provider, options } = bench;
  const session = await target.start(options.serviceA, undefined, ACK);
  const { code, result } = provider.grant();
  await target.callback(session, { code });
  return { session, result };
}

const sameStart: Case = {
  section: 'ack',
  rule: 'the answer of the start is the same three fields',
  covers: ['ack.again'],
  async run({ target, options }) {
    const answer = await target.post(JSON.stringify({ service: options.serviceA, ...ACK }));
    equal('fields', Object.keys(readJson(answer)).sort(), ['expiresIn', 'session', 'url']);
  },
};

const again: Case = {
  section: 'ack',
  rule: 'the result may be fetched again until it is confirmed; then it is gone',
  covers: ['ack.again', 'ack.confirm'],
  async run(bench) {
    const { session, result } = await complete(bench);
    for (const _ of [1, 2, 3]) {
      expectJson(await bench.target.poll(session.secret), { ...result });
    }
    const confirmed = await confirm(bench, session);
    expectStatus(confirmed, 204);
    equal('body', confirmed.body, '');
    expectText(await bench.target.poll(session.secret), 410, SESSION_NOT_FOUND);
    expectText(await confirm(bench, session), 410, SESSION_NOT_FOUND);
  },
};

const errorAgain: Case = {
  section: 'ack',
  rule: 'an error is kept for confirmation too',
  covers: ['ack.again', 'ack.confirm'],
  async run(bench) {
    const { target, options } = bench;
    const session = await target.start(options.serviceB, undefined, ACK);
    await target.callback(session, { error: 'access_denied' });
    for (const _ of [1, 2]) {
      expectJson(await target.poll(session.secret), { error: 'access_denied' });
    }
    expectStatus(await confirm(bench, session), 204);
    expectText(await target.poll(session.secret), 410, SESSION_NOT_FOUND);
  },
};

const early: Case = {
  section: 'ack',
  rule: 'confirming before anything was delivered is 204 and loses nothing; of nobody it is 410',
  covers: ['ack.early', 'ack.confirm'],
  async run(bench) {
    const { target, provider, options } = bench;
    const session = await target.start(options.serviceA, undefined, ACK);
    expectStatus(await confirm(bench, session), 204);
    const { code, result } = provider.grant();
    await target.callback(session, { code });
    expectStatus(await confirm(bench, session), 204);
    expectJson(await target.poll(session.secret), { ...result });
    expectStatus(await confirm(bench, session), 204);
    expectText(await target.poll(session.secret), 410, SESSION_NOT_FOUND);
    expectText(
      await confirm(bench, { ...session, secret: 'A'.repeat(24) }),
      410,
      SESSION_NOT_FOUND,
    );
  },
};

const ACK_SECONDS = 60;
const MARGIN_SECONDS = 5;

const kept: Case = {
  section: 'ack',
  rule: 'unconfirmed it is kept for 60 seconds from the first delivery, however often it is fetched',
  covers: ['ack.end', 'ack.again'],
  async run(bench) {
    const { target, options } = bench;
    if (options.sessionSeconds < 2 * ACK_SECONDS) throw new Skip('sessions do not live that long');
    const { session, result } = await complete(bench);
    const deliveredAt = performance.now();
    const until = (seconds: number) =>
      sleep(Math.max(0, deliveredAt + seconds * 1000 - performance.now()));
    expectJson(await target.poll(session.secret), { ...result });
    await until(ACK_SECONDS - 2 * MARGIN_SECONDS);
    expectJson(await target.poll(session.secret), { ...result });
    await until(ACK_SECONDS + MARGIN_SECONDS);
    expectText(await target.poll(session.secret), 410, SESSION_NOT_FOUND);
  },
};

export const ack: Group = {
  name: 'ack',
  about: 'a device confirms what it received',
  extension: 'ack',
  pace: 'at-once',
  cases: [sameStart, again, errorAgain, early, kept],
};
