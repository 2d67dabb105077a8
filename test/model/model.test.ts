/**
 * Relays do what the model says, whatever the order of events, over each store. With
 * SOAK=true (`npm run soak`) there are a million events. A failure is shrunk to the fewest
 * events that show it, and is printed with the command that repeats it.
 */
import { expect, setDefaultTimeout, test } from 'bun:test';
import fc from 'fast-check';
import { has } from '../kit/needs.ts';
import { IS_SOAK, testSeed } from '../kit/random.ts';
import { startRedis } from '../kit/redis/server.ts';
import { command } from './commands.ts';
import { REQUESTS } from './requests.ts';
import { Run } from './run.ts';
import { inMemory, type Kind, onFile, overRedis } from './worlds.ts';

setDefaultTimeout(3_600_000);

/** A run has 47 events on average, and 100 at most. */
const sequences = fc.array(command, { maxLength: 100, size: 'max' });
const SCALE = IS_SOAK ? 40 : 1;
/** In all worlds together. */
const LEAST_EVENTS = 25_000 * SCALE;

/** Where a failing run was, in fast-check's words: replays it without the runs before it. */
const path = process.env.TEST_PATH;

const redis = has('Redis', 'relays over Redis do what the model says, whatever happens')
  ? await startRedis()
  : undefined;

/** Which events met which states, and how often. */
const met = new Map<string, number>();
let executed = 0;

async function compare(name: string, createKind: () => Kind, numRuns: number): Promise<void> {
  const property = fc.asyncProperty(sequences, async (commands) => {
    const run = await Run.start(createKind());
    for (const each of commands) await run.execute(each);
    await run.end();
    executed += run.executed;
    for (const [key, count] of run.met) met.set(key, (met.get(key) ?? 0) + count);
  });
  const details = await fc.check(property, {
    seed: testSeed,
    numRuns: numRuns * SCALE,
    ...(path !== undefined && { path, endOnFailure: true }),
  });
  if (!details.failed) return;
  const variables = `TEST_SEED=${details.seed} TEST_PATH=${details.counterexamplePath}`;
  throw new Error(
    `${fc.defaultReportMessage(details)}\n\nRepeat it: ${variables} npx bun test test/model -t '${name}'`,
    { cause: details.errorInstance },
  );
}

/** On a file is what a Durable Object keeps too. */
test.each([
  ['in memory', inMemory, 400],
  ['in a sessions file', onFile, 200],
  ...(redis ? [['over Redis, two relays', () => overRedis(redis.url), 75] as const] : []),
] as const)(
  'random events, %s: every answer, and nothing that is left, is as in the model',
  compare,
);

const STATES = [
  ...(['pending', 'exchanging', 'completed', 'delivered', 'cancelled'] as const),
  ...(['gone', 'store down'] as const),
];

test.skipIf(path !== undefined)(
  'random events met a session in each state, and there were enough of them',
  () => {
    const events = ['code comes back', 'poll', ...REQUESTS];
    const wanted = events.flatMap((event) => STATES.map((state) => `${event}, ${state}`));
    expect(wanted.filter((each) => !met.has(each))).toEqual([]);
    console.log(`${executed} events`);
    expect(executed).toBeGreaterThanOrEqual(LEAST_EVENTS);
  },
);
