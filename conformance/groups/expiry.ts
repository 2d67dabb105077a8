/** The session lifetime: `protocol.md` §3, §8. Starts with the run and outlasts everything else. */

import type { Bench, Case, Group } from '../engine/case.ts';
import { equal } from '../engine/expect.ts';
import { sleep } from '../engine/wait.ts';
import { expectDeadLink, expectStatus, expectSuccessPage, expectText } from '../wire/answers.ts';
import { SESSION_NOT_FOUND } from '../wire/messages.ts';
import { expectResult, signIn } from '../wire/sign-in.ts';

/** So long before the end a session must still be there. */
const BEFORE_SECONDS = 5;
/** So long after it, it must be gone: our clock starts when the answer of the start is in. */
const AFTER_SECONDS = 2;

/** Waits from when a session was started (or a little later) until so long before its end. */
async function waitUntilBefore({ options }: Bench, startedAt: number): Promise<void> {
  await waitUntil(startedAt + (options.sessionSeconds - BEFORE_SECONDS) * 1000);
}

/** The sweep's interval is left open by §8: `--sweep-seconds` grants it. */
async function waitUntilAfter({ options }: Bench): Promise<void> {
  const seconds = options.sessionSeconds + options.sweepSeconds + AFTER_SECONDS;
  await waitUntil(performance.now() + seconds * 1000);
}

async function waitUntil(time: number): Promise<void> {
  await sleep(Math.max(0, time - performance.now()));
}

const aliveUntilTheEnd: Case = {
  section: '3, 8',
  rule: 'shortly before its lifetime ends a session is alive: link, callback, poll and result work',
  covers: ['8.lifetime', '3.expiry'],
  async run(bench) {
    const startedAt = performance.now();
    const { target, provider, options } = bench;
    const pending = await target.start(options.serviceA);
    const completed = await signIn(bench, options.serviceB);
    await waitUntilBefore(bench, startedAt);
    expectStatus(await target.open(pending), 302);
    const { code, result } = provider.grant();
    expectSuccessPage(await target.callback(pending, { code }));
    await expectResult(bench, pending, { ...result });
    await expectResult(bench, completed.session, { ...completed.result });
  },
};

const pendingGone: Case = {
  section: '3, 4, 7, 8',
  rule: 'after its lifetime a pending session is unknown: link 404, poll 410, callback 404, no exchange',
  covers: ['3.expiry', '8.lifetime', '4.authorize-state', '4.result-unknown', '4.callback-late'],
  async run(bench) {
    const { target, provider, options } = bench;
    const session = await target.start(options.serviceA);
    await waitUntilAfter(bench);
    expectDeadLink(await target.open(session));
    const { code } = provider.grant();
    expectDeadLink(await target.callback(session, { code }));
    expectDeadLink(await target.callback(session, { error: 'access_denied' }));
    expectText(await target.poll(session.secret), 410, SESSION_NOT_FOUND);
    equal('exchanges', provider.requests(code).length, 0);
  },
};

const completedGone: Case = {
  section: '3, 4, 8',
  rule: 'after its lifetime a result that nobody fetched is gone: 410',
  covers: ['3.expiry', '8.lifetime', '4.result-unknown', '7.session-not-found'],
  async run(bench) {
    const { session } = await signIn(bench, bench.options.serviceB);
    await waitUntilAfter(bench);
    expectText(await bench.target.poll(session.secret), 410, SESSION_NOT_FOUND);
  },
};

const notProlonged: Case = {
  section: '3, 8',
  rule: 'the lifetime counts from the start: opening the link and polling do not prolong it',
  covers: ['3.expiry', '8.lifetime'],
  async run(bench) {
    const { target, options } = bench;
    const startedAt = performance.now();
    const session = await target.start(options.serviceA);
    const end = waitUntilAfter(bench);
    await waitUntilBefore(bench, startedAt);
    expectStatus(await target.open(session), 302);
    const visit = target.park(session.secret);
    await sleep(300);
    visit.leave();
    await end;
    expectDeadLink(await target.open(session));
    expectText(await target.poll(session.secret), 410, SESSION_NOT_FOUND);
  },
};

export const expiry: Group = {
  name: 'expiry',
  about: 'the session lifetime: 600 seconds',
  pace: 'at-once',
  when: 'lifetime',
  cases: [aliveUntilTheEnd, pendingGone, completedGone, notProlonged],
};
