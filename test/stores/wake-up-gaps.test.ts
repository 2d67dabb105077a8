/** When the connection that listens is replaced. What is said in between nobody hears. hazards.md §3. */
import { expect, test } from 'bun:test';
import { HEARTBEAT_MS, HEARTBEATS_TO_REBUILD } from '../../src/limits.ts';
import type { RedisClient } from '../../src/stores/redis-client.ts';
import type { RedisCommands } from '../../src/stores/redis-commands.ts';
import { createOpenClaims } from '../../src/stores/redis-messages.ts';
import { listenForWakeUps } from '../../src/stores/redis-wake-ups.ts';
import { createWatchers } from '../../src/stores/watchers.ts';
import { createFakeClock, runReady } from '../support/fake-clock.ts';

/** A server whose messages arrive when the test says so, or on the old connection when it is replaced. */
function createSlowServer() {
  const underWay: (() => void)[] = [];
  const deliver = () => {
    for (const arrive of underWay.splice(0)) arrive();
  };
  let listener: ((message: string) => void) | undefined;
  let connections = 0;
  const client: Pick<RedisClient, 'publish' | 'subscribe'> = {
    async publish(_channel, message) {
      const listening = listener;
      underWay.push(() => listening?.(message));
      return 1;
    },
    async subscribe(_channel, onMessage) {
      connections += 1;
      deliver();
      listener = onMessage;
    },
  };
  return {
    client: client as RedisClient,
    deliver,
    lose: () => void underWay.splice(0),
    connections: () => connections,
  };
}

test('a heartbeat that was only late is heard, the connection is replaced all the same: everybody is woken after it', async () => {
  const server = createSlowServer();
  const clock = createFakeClock();
  const watchers = createWatchers();
  const within = <T>(work: Promise<T>) => work;
  const stop = await listenForWakeUps({
    ...{ client: server.client, commands: { within } as RedisCommands, clock, watchers },
    storeClock: { look: async () => {}, soon: () => '' },
    openClaims: createOpenClaims({ instance: 'instance', publish: async () => 0, clock }),
    line: { wasCut: false },
    channel: 'instance',
    onLost: () => {},
    onBack: () => {},
  });
  server.deliver();
  for (let beat = 1; beat < HEARTBEATS_TO_REBUILD; beat += 1) {
    server.lose();
    clock.advance(HEARTBEAT_MS);
    await runReady();
  }
  clock.advance(HEARTBEAT_MS);
  await runReady();
  expect(server.connections()).toBe(2);
  const news: string[] = [];
  watchers.add('poll', (heard) => news.push(heard));
  clock.advance(HEARTBEAT_MS);
  await runReady();
  server.deliver();
  expect(news).toEqual(['perhaps']);
  stop();
});
