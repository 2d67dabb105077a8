/** How often user codes may be guessed: RFC 8628 §5.1. */

import type { Bench, Case, Group } from '../../engine/case.ts';
import { between, equal, holds, matches, Skip } from '../../engine/expect.ts';
import { atMost, times } from '../../engine/wait.ts';
import { codePath } from '../../wire/addresses.ts';
import { expectStatus } from '../../wire/answers.ts';
import type { Answer } from '../../wire/http.ts';
import { expectAsked, openCode, startWithCode } from '../../wire/person.ts';

const LETTERS = [...'BCDFGHJKLMNPQRSTVWXZ'];

/** Hits a live code once in millions of runs. */
function guess(): string {
  const letter = () => LETTERS[Math.floor(Math.random() * LETTERS.length)];
  const half = () => times(4, letter).join('');
  return `${half()}-${half()}`;
}

function expectLimited(answer: Answer): void {
  expectStatus(answer, 429);
  matches('Content-Type', answer.headers['content-type'], /^text\/html\s*(;|$)/i);
  matches('Retry-After', answer.headers['retry-after'], /^[1-9]\d*$/);
}

const BURST = 10;
const SECONDS_PER_TRY = 10;

const perAddress: Case = {
  section: 'RFC 8628 §5.1',
  rule: 'one address: ten wrong codes, then 429 with Retry-After; a right code is not told apart then',
  covers: ['user-code.limit-address'],
  async run(bench) {
    const { target } = bench;
    if (target.sources.spread === 'none') throw new Skip('--spread none has one address only');
    const session = await startWithCode(bench);
    const from = await target.sources.fresh();
    const startedAt = performance.now();
    const statuses: number[] = [];
    for (const _ of times(BURST + 6, Number)) {
      statuses.push((await openCode(bench, guess(), from)).status);
    }
    const seconds = (performance.now() - startedAt) / 1000;
    const looked = statuses.filter((status) => status === 404).length;
    between('codes looked up', looked, BURST, BURST + 1 + seconds / SECONDS_PER_TRY);
    equal('the others', new Set(statuses.filter((status) => status !== 404)), new Set([429]));
    const [wrong, right] = [
      await openCode(bench, guess(), from),
      await openCode(bench, session.userCode, from),
    ];
    expectLimited(wrong);
    expectLimited(right);
    equal('page', right.body, wrong.body);
    expectAsked(await openCode(bench, session.userCode, session.from), session);
  },
};

const rightOnesFree: Case = {
  section: 'RFC 8628 §5.1',
  rule: 'right codes do not count: a page may be opened more often than may be guessed',
  covers: ['user-code.limit-address'],
  async run(bench) {
    const session = await startWithCode(bench);
    const from = await bench.target.sources.fresh();
    for (const _ of times(2 * BURST, Number)) {
      expectAsked(await openCode(bench, session.userCode, from), session);
    }
  },
};

const cookies: Case = {
  section: 'RFC 8628 §5.1',
  rule: 'the cookie of a sign-in that one has continued oneself buys no further try',
  covers: ['user-code.limit-address'],
  async run(bench) {
    const { target } = bench;
    if (target.sources.spread === 'none') throw new Skip('--spread none has one address only');
    const session = await startWithCode(bench);
    const continued = await target.decide(session, 'continue');
    const Cookie = (continued.headers['set-cookie'] ?? [])
      .map((each) => each.split(';')[0])
      .join('; ');
    const from = await target.sources.fresh();
    const startedAt = performance.now();
    const statuses: number[] = [];
    for (const _ of times(3 * BURST, Number)) {
      const path = codePath(guess());
      statuses.push((await target.send({ path, from, headers: { Cookie } })).status);
    }
    const seconds = (performance.now() - startedAt) / 1000;
    const looked = statuses.filter((status) => status !== 429).length;
    between('codes looked up', looked, BURST, BURST + 1 + seconds / SECONDS_PER_TRY);
  },
};

export const codeLimits: Group = {
  name: 'code-limits',
  about: 'guesses of user codes, by one address',
  extension: 'user-code',
  cases: [perAddress, rightOnesFree, cookies],
};

const OVERALL_BURST = 50;
const OVERALL_PER_SECOND = 5;
const GUESSES = 200;
const GUESSERS = 20;

/** From as many addresses as there are guesses. */
async function guessFromEverywhere(bench: Bench): Promise<{ statuses: number[]; seconds: number }> {
  const startedAt = performance.now();
  const statuses: number[] = [];
  await atMost(GUESSERS, times(GUESSES, guess), async (code) => {
    const from = await bench.target.sources.next();
    statuses.push((await openCode(bench, code, from)).status);
  });
  return { statuses, seconds: (performance.now() - startedAt) / 1000 };
}

const overall: Case = {
  section: 'RFC 8628 §5.1',
  rule: 'all addresses together: fifty wrong codes, then five a second',
  covers: ['user-code.limit-overall'],
  async run(bench) {
    if (bench.target.sources.spread === 'none')
      throw new Skip('--spread none has one address only');
    const { statuses, seconds } = await guessFromEverywhere(bench);
    const looked = statuses.filter((status) => status === 404).length;
    const most = OVERALL_BURST + seconds * OVERALL_PER_SECOND + 1;
    holds('codes looked up', looked <= most, `at most ${Math.floor(most)}`, looked);
    equal('statuses', [...new Set(statuses)].sort(), [404, 429]);
  },
};

export const codeLimitsOverall: Group = {
  name: 'code-limits-all',
  about: 'guesses of user codes, by all addresses together',
  extension: 'user-code',
  when: 'alone',
  cases: [overall],
};
