/** `Cache-Control: no-store, private` on every answer of start and result. `protocol.md` §4. */

import type { Bench, Case, Group } from '../engine/case.ts';
import { sleep } from '../engine/wait.ts';
import { expectNoStore, expectStatus } from '../wire/answers.ts';
import { exhaust } from '../wire/exhaust.ts';
import { signIn } from '../wire/sign-in.ts';

const started: Case = {
  section: '4',
  rule: 'start, 200: Cache-Control is no-store, private',
  covers: ['4.start-no-store'],
  async run({ target, options }) {
    const answer = await target.post(JSON.stringify({ service: options.serviceA }));
    expectStatus(answer, 200);
    expectNoStore(answer);
  },
};

const startRefused: Case = {
  section: '4',
  rule: 'start, 400 and 405: Cache-Control is no-store, private',
  covers: ['4.start-no-store'],
  async run({ target }) {
    for (const body of ['{', '{}']) {
      const answer = await target.post(body);
      expectStatus(answer, 400);
      expectNoStore(answer);
    }
    for (const method of ['GET', 'HEAD', 'PUT', 'OPTIONS']) {
      const answer = await target.send({ method, path: '/auth/start' });
      expectStatus(answer, 405);
      expectNoStore(answer);
    }
  },
};

const startLimited: Case = {
  section: '4',
  rule: 'start, 429: Cache-Control is no-store, private',
  covers: ['4.start-no-store'],
  async run(bench) {
    const { answer } = await exhaust(bench);
    expectNoStore(answer);
  },
};

const resultGiven: Case = {
  section: '4',
  rule: 'result, 200 with tokens and with an error: Cache-Control is no-store, private',
  covers: ['4.result-no-store'],
  async run(bench) {
    const { target, options } = bench;
    const { session } = await signIn(bench, options.serviceA);
    const failed = await target.start(options.serviceA);
    await target.callback(failed, { error: 'access_denied' });
    for (const { secret } of [session, failed]) {
      const answer = await target.poll(secret);
      expectStatus(answer, 200);
      expectNoStore(answer);
    }
  },
};

const resultRefused: Case = {
  section: '4',
  rule: 'result, 405 and 410: Cache-Control is no-store, private',
  covers: ['4.result-no-store'],
  async run({ target }) {
    for (const query of ['', '?session=', '?session=nosuch']) {
      const answer = await target.send({ path: `/auth/result${query}` });
      expectStatus(answer, 410);
      expectNoStore(answer);
    }
    for (const method of ['HEAD', 'POST', 'PUT', 'OPTIONS']) {
      const answer = await target.send({ method, path: '/auth/result?session=nosuch' });
      expectStatus(answer, 405);
      expectNoStore(answer);
    }
  },
};

/** The loser of two pollers: its 410 comes out of a wait, not out of the first look. */
async function losingPoll({ target, options }: Bench) {
  const session = await target.start(options.serviceA);
  const polls = [target.park(session.secret), target.park(session.secret)];
  await sleep(200);
  await target.callback(session, { error: 'access_denied' });
  return await Promise.all(polls.map(({ answer }) => answer));
}

const resultRaced: Case = {
  section: '4',
  rule: 'result, 200 and 410 of two waiting polls: Cache-Control is no-store, private',
  covers: ['4.result-no-store', '4.result-race'],
  async run(bench) {
    for (const answer of await losingPoll(bench)) expectNoStore(answer);
  },
};

export const headers: Group = {
  name: 'headers',
  about: 'Cache-Control of start and result (503 is in cap, 204 in hold)',
  cases: [started, startRefused, startLimited, resultGiven, resultRefused, resultRaced],
};
