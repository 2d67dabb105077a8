import { expect, test } from 'bun:test';
import { STORE_LATEST_MS } from '../../src/limits.ts';
import type { RedisClient } from '../../src/stores/redis-client.ts';
import { createStoreClock } from '../../src/stores/redis-clock.ts';
import type { RedisCommands } from '../../src/stores/redis-commands.ts';
import { createFakeClock } from '../support/fake-clock.ts';

const AHEAD_MS = 3_600_000;

/** A store whose clock is an hour ahead, and that answers at once unless time passes meanwhile. */
function createStore() {
  const clock = createFakeClock();
  const answering = { now: () => {} };
  const client: Pick<RedisClient, 'time'> = {
    async time() {
      const storeMs = clock.now() + AHEAD_MS;
      answering.now();
      return storeMs;
    },
  };
  const commands: Pick<RedisCommands, 'within'> = { within: (work) => work };
  const storeClock = createStoreClock(client as RedisClient, commands as RedisCommands, clock);
  const latest = () => `until ${clock.now() + AHEAD_MS + STORE_LATEST_MS}`;
  return { clock, answering, storeClock, latest };
}

test('a command says until when it holds, by the clock of the store', async () => {
  const { clock, storeClock, latest } = createStore();
  expect(storeClock.soon(clock.now())).toBe('');
  await storeClock.look();
  expect(storeClock.soon(clock.now())).toBe(latest());
});

test('an answer that was read after a standstill does not mislead it', async () => {
  const { clock, answering, storeClock, latest } = createStore();
  await storeClock.look();
  answering.now = () => clock.stall(7_000);
  await storeClock.look();
  expect(storeClock.soon(clock.now())).toBe(latest());
});
