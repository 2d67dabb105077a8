import { afterAll, expect, test } from 'bun:test';
import { EXCHANGE_LEASE_MS, REFRESH_ANSWER_MS } from '../../src/limits.ts';
import { systemClock } from '../../src/relay/clock.ts';
import { createRefreshAnswers } from '../../src/relay/refresh-answers.ts';
import { createGate } from '../support/gate.ts';
import { startRedis } from '../support/redis/start-redis.ts';
import { openTestRedis } from './support/redis-store.ts';

const redis = await startRedis();
afterAll(() => redis.stop());

test('a refresh that comes to two instances asks the provider once, and both have its answer', async () => {
  const prefix = `refresh-${crypto.randomUUID()}:`;
  const instances = await Promise.all([1, 2].map(() => openTestRedis(redis.url, { prefix })));
  const gate = createGate();
  const held = gate.close();
  let asked = 0;
  async function ask() {
    asked += 1;
    await gate.pass();
    return { accessToken: `fresh ${asked}` };
  }
  const [first, ...others] = instances.flatMap(({ refreshAnswers }) => {
    const answers = createRefreshAnswers(refreshAnswers, systemClock);
    return [1, 2].map(() => () => answers.answer('mal token', ask, () => true));
  });
  const answered = [first?.()];
  await held.arrived;
  answered.push(...others.map((refresh) => refresh()));
  held.release();
  expect(await Promise.all(answered)).toEqual(Array(4).fill({ accessToken: 'fresh 1' }));
  expect(await instances[1]?.refreshAnswers.begin('mal token', systemClock.now())).toMatchObject({
    state: 'answered',
  });
  expect(asked).toBe(1);
  for (const { close } of instances) close();
});

test('Redis itself throws turns and answers away when their time is over', async () => {
  const prefix = `refresh-${crypto.randomUUID()}:`;
  const { refreshAnswers, close } = await openTestRedis(redis.url, { prefix });
  const lifeMs = async () => {
    const key = await redis.cli('KEYS', `${prefix}refresh:*`);
    return Number(await redis.cli('PTTL', key));
  };
  await refreshAnswers.begin('mal token', systemClock.now());
  expect(await lifeMs()).toBeWithin(1, EXCHANGE_LEASE_MS + 1);
  await refreshAnswers.settle('mal token', '{}', systemClock.now());
  expect(await lifeMs()).toBeWithin(EXCHANGE_LEASE_MS, REFRESH_ANSWER_MS + 1);
  close();
});
