/** One attempt of a claim is undone after another attempt of the same claim was answered: the tokens stay with the one device. */
import { afterAll, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { STORE_DEADLINE_MS } from '../../src/limits.ts';
import { systemClock } from '../../src/relay/clock.ts';
import { createHoldBack } from '../../src/stores/hold-back.ts';
import { createRedisStore, createRequestId } from '../../src/stores/redis.ts';
import { connectRedis, type RedisClient } from '../../src/stores/redis-client.ts';
import { createRedisCommands } from '../../src/stores/redis-commands.ts';
import { createRedisKeys } from '../../src/stores/redis-keys.ts';
import { createOpenClaims } from '../../src/stores/redis-messages.ts';
import { createRefusals } from '../../src/stores/redis-refusals.ts';
import { parseRedisUrl } from '../../src/stores/redis-url.ts';
import { createWatchers } from '../../src/stores/watchers.ts';
import { startCuttingProxy } from '../support/redis/cutting-proxy.ts';
import { startRedis } from '../support/redis/start-redis.ts';
import { NOW, registerCompleted, TOKENS } from './suite/sessions.ts';

const redis = await startRedis();
const proxy = await startCuttingProxy(redis.port);
afterAll(async () => {
  await proxy.stop();
  await redis.stop();
});

const onCut = () => {};

/** A real Redis, of which the test says what its replicas know. */
async function openStore(isReplicated: () => Promise<boolean>) {
  const target = parseRedisUrl(proxy.url);
  if (target === undefined) throw new Error('no address');
  const single = await connectRedis(target, onCut, new AbortController().signal);
  const client: RedisClient = {
    ...single,
    mayFailOver: true,
    asClaimer: (run) => single.asClaimer((claimer) => run({ ...claimer, isReplicated })),
  };
  const clock = systemClock;
  const commands = createRedisCommands({
    client,
    clock,
    onCut,
    refusals: createRefusals(clock, () => {}),
  });
  const instance = 'instance';
  const publish = async () => 0;
  const wake = async () => {};
  const store = createRedisStore({
    ...{ client, commands, clock, randomBytes, instance, wake, maxSessions: 10 },
    keys: createRedisKeys('late-undo:'),
    watchers: createWatchers(),
    openClaims: createOpenClaims({ instance, publish, clock }),
    holdBack: createHoldBack({
      clock,
      isReplicating: async () => true,
      onHeld: () => {},
      onReleased: () => {},
    }),
    timeOf: (nowMs) => nowMs,
    createId: () => createRequestId(randomBytes),
  });
  return { store, close: () => client.close() };
}

test('an attempt that finds no replica is undone late: what its repetition delivered is not delivered again', async () => {
  const first = Promise.withResolvers<boolean>();
  let asked = 0;
  const { store, close } = await openStore(() => {
    asked += 1;
    return asked === 1 ? first.promise : Promise.resolve(true);
  });
  const { pollSecret } = await registerCompleted(store);
  await store.claim('A'.repeat(24), NOW);
  // The first attempt's answer takes half of the deadline, so that the attempt outlives it.
  proxy.stall('replies');
  const claim = store.claim(pollSecret, NOW);
  await Bun.sleep(STORE_DEADLINE_MS / 2);
  proxy.stall(false);
  expect(await claim).toEqual({ state: 'claimed', result: TOKENS });
  first.resolve(false);
  // Behind the undoing, on the same connection.
  expect(await store.claim(pollSecret, NOW)).toEqual({ state: 'gone' });
  expect(asked).toBeGreaterThan(1);
  close();
});
