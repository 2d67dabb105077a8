/** The cap on live sessions: `protocol.md` §4, §8. It is the whole target's, so it runs alone. */

import type { Bench, Case, Group } from '../engine/case.ts';
import { between, holds, Skip } from '../engine/expect.ts';
import { times } from '../engine/wait.ts';
import {
  expectJson,
  expectNoStore,
  expectNotAllowed,
  expectStatus,
  expectText,
} from '../wire/answers.ts';
import type { Session } from '../wire/ledger.ts';

const BUSY = 'Server busy';
const STARTERS = 24;
/** Below the burst of three, in case an address was used before. */
const STARTS_PER_SOURCE = 2;

/** Starts sessions, many at a time, until each starter was told that the target is full. */
async function fill({ target, options }: Bench): Promise<void> {
  const body = JSON.stringify({ service: options.serviceA });
  const enough = options.maxSessions + 2 * STARTERS;
  let tries = 0;
  const starter = async () => {
    while (tries < enough) {
      const from = await target.sources.next();
      for (const _ of times(STARTS_PER_SOURCE, Number)) {
        tries += 1;
        const answer = await target.post(body, from);
        if (answer.status !== 200) return expectText(answer, 503, BUSY);
      }
    }
  };
  await Promise.all(times(STARTERS, starter));
}

const cap: Case = {
  section: '4, 7, 8',
  rule: 'at the maximum of live sessions a start gets 503 Server busy; each one claimed lets one in',
  covers: ['8.max-sessions', '4.start-check-6', '7.busy', '4.start-no-store', '4.plain-text'],
  async run(bench) {
    const { target, options } = bench;
    if (target.sources.spread === 'none') {
      throw new Skip('--spread none cannot start as many sessions as the target holds');
    }
    const before = target.ledger.sessions;
    const known = new Set(before.map(({ secret }) => secret));
    await fill(bench);
    const mine = target.ledger.sessions.filter(({ secret }) => !known.has(secret));
    // Sessions from before may have ended unseen, so they count for the lower bound only.
    between(
      "accepted starts (fewer: somebody else's sessions live in the target)",
      mine.length,
      options.maxSessions - before.length,
      options.maxSessions,
    );
    await checkFull(bench);
    await checkOneInOneOut(bench, mine);
  },
};

/** Full is looked at last: all other refusals come first. §4. */
async function checkFull({ target, options }: Bench): Promise<void> {
  const busy = await target.post(JSON.stringify({ service: options.serviceB }));
  expectText(busy, 503, BUSY);
  expectNoStore(busy);
  expectNotAllowed(await target.send({ path: '/auth/start' }), 'GET');
  expectText(await target.post('{'), 400, 'Invalid JSON');
  expectText(await target.post('{}'), 400, 'Unknown service');
  const from = await target.sources.fresh();
  const statuses: number[] = [];
  for (const _ of times(8, Number)) {
    statuses.push((await target.post(JSON.stringify({ service: options.serviceA }), from)).status);
  }
  holds('starts in a row', statuses.includes(429), 'a 429 among them', statuses);
}

/** A completed session still lives; only claiming it makes room. §3. */
async function checkOneInOneOut({ target, options }: Bench, mine: readonly Session[]) {
  const start = () => target.post(JSON.stringify({ service: options.serviceA }));
  for (const session of mine.slice(0, 3)) {
    expectStatus(await target.open(session), 302);
    expectStatus(await target.callback(session, { error: 'access_denied' }), 200);
    expectText(await start(), 503, BUSY);
    expectJson(await target.poll(session.secret), { error: 'access_denied' });
    expectStatus(await start(), 200);
    expectText(await start(), 503, BUSY);
  }
}

export const capGroup: Group = {
  name: 'cap',
  about: 'the cap on live sessions: 5000; wants a target nobody else uses',
  when: 'alone',
  cases: [cap],
};
