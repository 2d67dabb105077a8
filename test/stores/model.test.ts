/** Random sequences of verbs: Redis answers like memory. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import fc from 'fast-check';
import { ACK_MS, EXCHANGE_LEASE_MS } from '../kit/limits.ts';
import { asyncProperty } from '../kit/random.ts';
import { startRedis } from '../kit/redis/server.ts';
import {
  createCode,
  DENIED,
  LIFETIME_MS,
  type NewSession,
  newSession,
  openMemory,
  openTestRedis,
  type TestStore,
  type TestStores,
  TOKENS,
} from '../kit/stores.ts';

setDefaultTimeout(60_000);

const redis = await startRedis();
afterAll(() => redis.stop());

/** On both sides of every boundary in time; mostly none, or few sessions would get far. */
const boundariesMs = [EXCHANGE_LEASE_MS, ACK_MS / 2, ACK_MS, LIFETIME_MS].flatMap((lastMs) => [
  lastMs,
  lastMs + 1,
]);
const pauses = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom(0, 1) },
  { weight: 1, arbitrary: fc.constantFrom(...boundariesMs) },
);

/** One verb on one of the sessions registered so far. */
const step = fc.record({
  verb: fc.constantFrom(
    ...(['register', 'register again', 'getAuthorization', 'lease', 'lease', 'fail'] as const),
    ...(['complete', 'complete', 'claim', 'claim', 'sweep'] as const),
    ...(['getSession', 'getSession', 'getSession by code', 'getSession by code'] as const),
    ...(['acknowledge', 'takeOpenedNotice', 'cancel'] as const),
  ),
  session: fc.nat({ max: 3 }),
  service: fc.constantFrom('mal', 'mal', 'mal', 'anilist'),
  withVerifier: fc.boolean(),
  withCode: fc.boolean(),
  withName: fc.boolean(),
  repeatMs: fc.constantFrom(undefined, ACK_MS, ACK_MS / 2),
  keepsErrors: fc.boolean(),
  isDenied: fc.boolean(),
  pauseMs: pauses,
});

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** All sessions live equally long, as in a relay: the memory store relies on it. */
const sequences = fc.record({
  steps: fc.array(step, { minLength: 5, maxLength: 40 }),
  lifetimeMs: fc.constantFrom(1, EXCHANGE_LEASE_MS - 1, LIFETIME_MS, LIFETIME_MS, LIFETIME_MS),
});

type Sequence = typeof sequences extends fc.Arbitrary<infer Value> ? Value : never;

/** The sessions of a sequence, the same for every store. */
function sessionsOf({ steps, lifetimeMs }: Sequence): NewSession[] {
  return steps.map(({ service, withVerifier, withCode, withName, repeatMs, keepsErrors }) => ({
    ...newSession({ service, lifetimeMs, repeatMs, keepsErrors }),
    ...(!withVerifier && { verifier: undefined }),
    ...(withCode && { userCode: createCode() }),
    ...(withName && { deviceName: 'Fernseher 📺' }),
  }));
}

/** All that the store answered, in order. */
async function run(
  { store, time }: TestStores,
  { steps }: Sequence,
  sessions: readonly NewSession[],
): Promise<unknown[]> {
  const answers: unknown[] = [];
  const registered: NewSession[] = [];
  const used = new Set<NewSession>();
  for (const [index, step] of steps.entries()) {
    time.advance(step.pauseMs);
    const fresh = sessions[index];
    const known = registered[step.session % registered.length];
    if (step.verb === 'register' && fresh !== undefined) {
      registered.push(fresh);
      answers.push(await store.register(fresh));
    } else if (step.verb === 'register again' && known !== undefined) {
      // Capabilities are random, so those of a session that got so far do not come again.
      if (!used.has(known)) answers.push(await store.register(known));
    } else if (known !== undefined) {
      const answer = await runVerb(store, step, known);
      const isClaimed = step.verb === 'claim' && 'result' in Object(answer);
      if (isClaimed || (step.verb === 'lease' && answer !== undefined)) used.add(known);
      answers.push(answer);
    }
  }
  return answers;
}

function runVerb(
  store: TestStore,
  { verb, service, isDenied }: Step,
  { browserState, pollSecret, userCode = '' }: NewSession,
): Promise<unknown> {
  const session = { service, browserState };
  switch (verb) {
    case 'getAuthorization':
      return store.getAuthorization(session);
    case 'lease':
      return store.lease(session);
    case 'fail':
      return store.fail(session);
    case 'complete':
      return store.complete(session, isDenied ? DENIED : TOKENS);
    case 'claim':
      return store.claim(pollSecret);
    case 'takeOpenedNotice':
      return store.takeOpenedNotice(pollSecret);
    case 'cancel':
      return store.cancel(pollSecret);
    case 'getSession':
      return store.getSession({ browserState });
    case 'getSession by code':
      return store.getSession({ userCode });
    case 'acknowledge':
      return store.acknowledge(pollSecret);
    default:
      return store.sweep();
  }
}

/** Small, so that sequences reach it. */
const MAX_SESSIONS = 2;

test('in whatever order verbs are used, Redis answers like memory', async () => {
  await asyncProperty(sequences, async (sequence) => {
    const sessions = sessionsOf(sequence);
    const stores = await openTestRedis(redis.url, { maxSessions: MAX_SESSIONS });
    try {
      const expected = await run(openMemory({ maxSessions: MAX_SESSIONS }), sequence, sessions);
      expect(await run(stores, sequence, sessions)).toEqual(expected);
    } finally {
      stores.close();
    }
  });
});

/** Without what differs from one session to the next. */
function kindOf(answer: unknown): string {
  return JSON.stringify(answer ?? null, (key, value) => {
    if (key === 'ageMs' || key === 'endsInMs') return undefined;
    return ['verifier', 'browserState', 'service'].includes(key) ? value && '' : value;
  });
}

test('such sequences reach every outcome there is', async () => {
  const seen = new Set<string>();
  for (const sequence of fc.sample(sequences, { numRuns: 1_500, seed: 1 })) {
    const stores = openMemory({ maxSessions: MAX_SESSIONS });
    for (const answer of await run(stores, sequence, sessionsOf(sequence))) {
      seen.add(kindOf(answer));
    }
  }
  const found = { service: '', browserState: '' };
  const sessions = [found, { ...found, deviceName: 'Fernseher 📺' }];
  const results = [TOKENS, DENIED, { error: 'exchange_failed' }];
  const claims = results.map((result) => ({ state: 'claimed', result }));
  const outcomes = [
    ...['registered', 'busy', 'collision', true, false, null, {}],
    // A lease has the name of the device too.
    ...[{ verifier: '', deviceName: 'Fernseher 📺' }, { deviceName: 'Fernseher 📺' }],
    ...[{ verifier: '' }, { state: 'pending' }, { state: 'gone' }, ...claims, ...sessions],
    ...['acknowledged', 'early', 'gone'],
    // Of a session that is cancelled, as the cancellation says too.
    ...['in_progress', 'signed_in', 'access_denied', 'failed', 'cancelled'],
  ];
  expect([...seen].sort()).toEqual(outcomes.map((outcome) => kindOf(outcome)).sort());
});

/** Buckets fill slowly here: in Redis a full one is removed by the server's own clock. */
const policies = fc.record({
  burst: fc.integer({ min: 1, max: 5 }),
  ratePerSecond: fc.constantFrom(0.1, 0.07, 0.03),
});
const takes = fc.array(
  fc.record({
    isRefunded: fc.boolean(),
    address: fc.constantFrom('192.0.2.1', '2001:db8::'),
    pauseMs: fc.constantFrom(0, 0, 1, 9_999, 10_000, 14_285, 14_286, 33_334, 100_000),
  }),
  { maxLength: 40 },
);

test('whatever the address and the time, the rate limiter in Redis decides like the one in memory', async () => {
  await asyncProperty(fc.tuple(policies, takes), async ([policy, sequence]) => {
    const stores = [openMemory(), await openTestRedis(redis.url)] as const;
    const limiters = stores.map(({ createRateLimiter }) => createRateLimiter(policy));
    try {
      for (const { address, pauseMs, isRefunded } of sequence) {
        for (const { time } of stores) time.advance(pauseMs);
        const [memory, inRedis] = await Promise.all(limiters.map((each) => each.take(address)));
        expect(inRedis).toEqual(memory as never);
        if (isRefunded) await Promise.all(limiters.map((each) => each.refund(address)));
      }
    } finally {
      for (const { close } of stores) close();
    }
  });
});
