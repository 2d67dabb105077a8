/**
 * A relay does what the model says, whatever the order of events, over each store. With
 * SOAK=true (`npm run soak`) there are a million events; TEST_SEED replays a run.
 */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import fc from 'fast-check';
import { testSeed } from '../kit/random.ts';
import { startRedis } from '../kit/redis/server.ts';
import { command, type OpenWorld, Run } from './run.ts';
import { inDurableObject, inMemory, overRedis } from './worlds.ts';

setDefaultTimeout(3_600_000);

/** A run has 50 events on average, and 100 at most. */
const sequences = fc.array(command, { maxLength: 100, size: 'max' });
const SCALE = process.env.SOAK ? 20 : 1;

const redis = await startRedis();
afterAll(() => redis.stop());

/** Resolves with which events met which states, and how often. */
async function compare(open: OpenWorld, numRuns: number): Promise<ReadonlyMap<string, number>> {
  const met = new Map<string, number>();
  let executed = 0;
  const property = fc.asyncProperty(sequences, async (commands) => {
    const run = await Run.start(open);
    for (const each of commands) await run.execute(each);
    await run.end();
    executed += run.executed;
    for (const [key, count] of run.met) met.set(key, (met.get(key) ?? 0) + count);
  });
  await fc.assert(property, { seed: testSeed, numRuns: numRuns * SCALE });
  console.log(`${executed} events in ${numRuns * SCALE} runs`);
  return met;
}

const STATES = [
  'pending',
  'exchanging',
  'completed',
  'delivered',
  'cancelled',
  'gone',
  'store down',
];
/** Those that meet a session in whatever state it is. */
const EVENTS = [
  ...['open', 'continue', 'decline', 'code comes back', 'code comes back at another service'],
  ...['error comes back', 'nothing comes back', 'poll', 'acknowledge', 'cancel'],
];

test.each<[string, OpenWorld, number]>([
  ['in memory', inMemory, 500],
  ['in a Durable Object', inDurableObject, 300],
  ['over Redis, two relays', overRedis(redis.url), 200],
])(
  'random events, %s: every answer, and nothing that is left, is as in the model',
  async (_, open, runs) => {
    const met = await compare(open, runs);
    const wanted = EVENTS.flatMap((event) => STATES.map((state) => `${event}, ${state}`));
    expect(wanted.filter((each) => !met.has(each))).toEqual([]);
  },
);
