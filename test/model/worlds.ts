/** Two relays on one store, of each kind. Time is the test's everywhere. */
import { Database } from 'bun:sqlite';
import { randomUUID } from 'node:crypto';
import { createFakeClock, runReady } from '../kit/clock.ts';
import { createTestService } from '../kit/service.ts';
import { openDurable, openTestRedis } from '../kit/stores.ts';
import type { OpenWorld } from './run.ts';

export const inMemory: OpenWorld = async (settings, hooks) => {
  const first = createTestService(settings, hooks);
  const relays = [first, createTestService(settings, { ...hooks, sharing: first })] as const;
  return {
    relays,
    settle: runReady,
    countKept: async () => first.kept().sessions,
    close: () => closeAll(relays),
  };
};

export const inDurableObject: OpenWorld = async (settings, hooks) => {
  const time = createFakeClock();
  const database = new Database(':memory:');
  const sql = {
    exec: (statement: string, ...values: (string | number)[]) =>
      database.query(statement).all(...values) as Record<string, unknown>[],
  };
  const { sessions, refreshes, createRateLimiter } = openDurable(sql, { time, ...settings }).stores;
  const stores = { sessions, refreshes, createRateLimiter, close() {} };
  const options = { ...hooks, stores, clock: time };
  const first = createTestService(settings, options);
  const relays = [first, createTestService(settings, options)] as const;
  return {
    relays,
    settle: runReady,
    countKept: async () => sql.exec('SELECT * FROM kept').length,
    close: () => closeAll(relays),
  };
};

/** As two processes, each with its own connections. */
export const overRedis =
  (url: string): OpenWorld =>
  async (settings, hooks) => {
    const clock = createFakeClock();
    const prefix = `model-${randomUUID()}:`;
    const open = () => openTestRedis(url, { prefix, time: clock, ...settings });
    const opened = [await open(), await open()] as const;
    const create = ({ stores }: (typeof opened)[0]) =>
      createTestService(settings, { ...hooks, stores, clock });
    const relays = [create(opened[0]), create(opened[1])] as const;
    const settle = async () => {
      await runReady();
      // Over the same connections: answered after what was asked before.
      await Promise.all(opened.map(({ store }) => store.countLive()));
      await runReady();
    };
    return {
      relays,
      settle,
      countKept: () => opened[0].store.countLive(),
      close() {
        closeAll(relays);
        closeAll(opened);
      },
    };
  };

function closeAll(relays: readonly { close(): void }[]): void {
  for (const { close } of relays) close();
}
