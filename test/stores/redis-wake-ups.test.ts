import { afterAll, expect, test } from 'bun:test';
import { HEARTBEAT_MS } from '../../src/limits.ts';
import { type Clock, systemClock } from '../../src/relay/clock.ts';
import { pollUntil } from '../support/redis/poll-until.ts';
import { startRedis } from '../support/redis/start-redis.ts';
import { openTestRedis } from './support/redis-store.ts';

const redis = await startRedis();
afterAll(() => redis.stop());

const HEARTBEATS = 1_000;

/** Its heart beats faster. */
const excited: Clock = {
  ...systemClock,
  setTimer: (delayMs, run) => systemClock.setTimer(delayMs === HEARTBEAT_MS ? 1 : delayMs, run),
};

test('a connection that hears its heartbeats is left as it is', async () => {
  const { rateLimiter, close } = await openTestRedis(redis.url, { clock: excited });
  let isOver = false;
  // Answers come late then, and heartbeats before them.
  async function work(): Promise<void> {
    while (!isOver) await rateLimiter.take('192.0.2.1', systemClock.now());
  }
  const findListener = async () =>
    /^id=\d+/.exec(await redis.cli('CLIENT', 'LIST', 'TYPE', 'pubsub'))?.[0];
  try {
    const listener = await findListener();
    expect(listener).toBeDefined();
    const workers = Array.from({ length: 50 }, work);
    await pollUntil(`${HEARTBEATS} heartbeats were sent`, async () => {
      const stats = await redis.cli('INFO', 'commandstats');
      return Number(/cmdstat_publish:calls=(\d+)/.exec(stats)?.[1]) >= HEARTBEATS || undefined;
    });
    isOver = true;
    await Promise.all(workers);
    expect(await findListener()).toBe(listener);
  } finally {
    close();
  }
});
