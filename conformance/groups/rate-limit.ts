/** The start rate limit: burst 3, then one a second, per client address. `protocol.md` §8, design.md. */

import type { Bench, Case, Group } from '../engine/case.ts';
import { between, equal, holds, Skip } from '../engine/expect.ts';
import { sleep, times } from '../engine/wait.ts';
import { expectNotAllowed, expectStatus, expectText } from '../wire/answers.ts';
import type { Source } from '../wire/sources.ts';

const BURST = 3;
const RATE_PER_SECOND = 1;

interface Tally {
  readonly accepted: number;
  readonly seconds: number;
}

/** Starts every `gapMs`, so many times, from one client. */
async function startRepeatedly(
  { target, options }: Bench,
  from: Source,
  count: number,
  gapMs: number,
): Promise<Tally> {
  const startedAt = performance.now();
  let accepted = 0;
  for (const at of times(count, (index) => index * gapMs)) {
    await sleep(Math.max(0, startedAt + at - performance.now()));
    const answer = await target.post(JSON.stringify({ service: options.serviceA }), from);
    if (answer.status === 200) accepted += 1;
    else expectText(answer, 429, 'Rate limited');
  }
  return { accepted, seconds: (performance.now() - startedAt) / 1000 };
}

/** What a bucket may have given: its burst, and what has trickled in since. */
function expectBucket({ accepted, seconds }: Tally): void {
  between('accepted starts', accepted, BURST, BURST + Math.floor(seconds * RATE_PER_SECOND));
}

const burst: Case = {
  section: '4, 7, 8',
  rule: 'three starts in a row pass, the next ones get 429 Rate limited',
  covers: ['8.start-rate', '4.start-check-3', '7.rate-limited', '4.plain-text'],
  async run(bench) {
    const from = await bench.target.sources.fresh();
    expectBucket(await startRepeatedly(bench, from, 8, 0));
  },
};

const recovery: Case = {
  section: '8',
  rule: 'an exhausted client may start again after a second, once',
  covers: ['8.start-rate'],
  async run(bench) {
    const from = await bench.target.sources.fresh();
    await startRepeatedly(bench, from, 8, 0);
    await sleep(1_100);
    const { accepted, seconds } = await startRepeatedly(bench, from, 4, 0);
    between('accepted starts', accepted, 1, 1 + Math.ceil(seconds));
  },
};

const sustained: Case = {
  section: '8',
  rule: 'in the long run one start a second passes',
  covers: ['8.start-rate'],
  async run(bench) {
    const from = await bench.target.sources.fresh();
    const tally = await startRepeatedly(bench, from, 26, 250);
    expectBucket(tally);
    // Tokens that trickled in, less one for where in its second the last try fell.
    const least = BURST + Math.floor(tally.seconds * RATE_PER_SECOND) - 1;
    holds('accepted starts', tally.accepted >= least, `at least ${least}`, tally.accepted);
  },
};

const refillStops: Case = {
  section: '8',
  rule: 'a rested client has its burst of three back, and no more',
  covers: ['8.start-rate'],
  async run(bench) {
    const from = await bench.target.sources.fresh();
    await startRepeatedly(bench, from, 4, 0);
    await sleep(6_000);
    expectBucket(await startRepeatedly(bench, from, 8, 0));
  },
};

const perAddress: Case = {
  section: '4, 8',
  rule: 'the limit is per client address: another client is not held up',
  covers: ['8.start-rate', '4.start-check-3'],
  async run(bench) {
    const { target, options } = bench;
    if (target.sources.spread === 'none') throw new Skip('--spread none has one address only');
    await startRepeatedly(bench, await target.sources.fresh(), 5, 0);
    await target.start(options.serviceA, await target.sources.fresh());
  },
};

const refusedCounts: Case = {
  section: '4',
  rule: 'starts that are refused for their body count too, since the limit is checked first',
  covers: ['4.start-check-3'],
  async run({ target }) {
    const from = await target.sources.fresh();
    const startedAt = performance.now();
    const statuses: number[] = [];
    for (const body of ['{', '{}', '{', '{}', '{', '{}']) {
      statuses.push((await target.post(body, from)).status);
    }
    const passed = statuses.filter((status) => status === 400).length;
    expectBucket({ accepted: passed, seconds: (performance.now() - startedAt) / 1000 });
    equal('the others', new Set(statuses.filter((status) => status !== 400)), new Set([429]));
  },
};

const onlyPosts: Case = {
  section: '4',
  rule: 'requests of another method do not count, since the method is checked first',
  covers: ['4.start-check-1', '4.start-check-3'],
  async run(bench) {
    const from = await bench.target.sources.fresh();
    for (const method of ['GET', 'PUT', 'DELETE', 'GET', 'PUT']) {
      const path = '/auth/start';
      expectNotAllowed(await bench.target.send({ method, path, from }), method);
    }
    expectBucket(await startRepeatedly(bench, from, 6, 0));
  },
};

const onlyStart: Case = {
  section: '4',
  rule: 'only starts are limited: an exhausted client may still poll and open links',
  covers: ['4.start-check-3'],
  async run(bench) {
    const from = await bench.target.sources.fresh();
    await startRepeatedly(bench, from, 5, 0);
    const path = '/auth/result?session=nosuch';
    for (const _ of times(6, Number)) {
      expectStatus(await bench.target.send({ path, from }), 410);
    }
    expectStatus(await bench.target.send({ path: '/auth/done', from }), 200);
  },
};

export const rateLimit: Group = {
  name: 'rate-limit',
  about: 'the start rate limit',
  cases: [burst, recovery, sustained, refillStops, perAddress, refusedCounts, onlyPosts, onlyStart],
};
