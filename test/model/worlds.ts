/** Two relays on one store, of each kind. Time is the test's everywhere. */
import { Database } from 'bun:sqlite';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Stores } from '../../src/service.ts';
import { createFakeClock, type FakeClock, runReady } from '../kit/clock.ts';
import { createTestService, type TestService, type TestServiceOptions } from '../kit/service.ts';
import { openDurable, openFile, openTestRedis, sqlOf } from '../kit/stores.ts';

/** Two relays on one store. */
export interface World {
  readonly clock: FakeClock;
  relays(): readonly [TestService, TestService];
  /** Resolves once everything that is ready has happened. */
  settle(): Promise<void>;
  /** How often the test looks whether a relay has done what it must. */
  readonly tries: number;
  /** What is left in the store. */
  countKept(): Promise<number>;
  /** Which relays `restart` kills: those in the same process too, or the one. */
  readonly restarted: 'all' | 'one';
  readonly storeSurvives: boolean;
  restart(index: 0 | 1): Promise<void>;
  close(): void;
}

export const OPEN_ENDPOINT = 'https://provider.test/authorize';

const settingsFor = (maxSessions: number) => ({ maxSessions, openEndpoints: [OPEN_ENDPOINT] });

/** What a relay of a world is created with; another time when it restarts. */
export type Hooks = Required<Pick<TestServiceOptions, 'fetch' | 'beforeStore'>>;
export type OpenWorld = (maxSessions: number, hooksOf: (index: 0 | 1) => Hooks) => Promise<World>;

/** What is not so in the end is for the caller to notice. */
export async function until(
  { settle, tries }: World,
  isSo: () => boolean | Promise<boolean>,
): Promise<void> {
  for (let left = tries; left > 0; left -= 1) {
    await settle();
    if (await isSo()) return;
  }
}

/** Nothing is waited for but promises. */
const TRIES_IN_PROCESS = 200;
/** Ten seconds and more: messages of Redis come when they come. */
const TRIES_OVER_REDIS = 5_000;

/** Both relays are in one process, and a restart loses everything. */
export const inMemory: OpenWorld = async (maxSessions, hooksOf) => {
  const clock = createFakeClock();
  function open() {
    const first = createTestService(settingsFor(maxSessions), { ...hooksOf(0), clock });
    const second = createTestService(settingsFor(maxSessions), { ...hooksOf(1), sharing: first });
    return [first, second] as const;
  }
  let relays = open();
  return {
    clock,
    relays: () => relays,
    settle: runReady,
    tries: TRIES_IN_PROCESS,
    countKept: async () => relays[0].kept().sessions,
    restarted: 'all',
    storeSurvives: false,
    async restart() {
      closeAll(relays);
      relays = open();
    },
    close: () => closeAll(relays),
  };
};

/** One process, or one object, on SQLite: a restart loses what is only in memory. */
async function onSqlite(
  clock: FakeClock,
  open: () => Promise<{ readonly stores: Omit<Stores, 'close'>; close(): void }>,
  maxSessions: number,
  hooksOf: Parameters<OpenWorld>[1],
  remove = () => {},
): Promise<World> {
  async function start() {
    const { stores, close } = await open();
    const shared = { clock, stores: { ...stores, close() {} } };
    const relays = [
      createTestService(settingsFor(maxSessions), { ...hooksOf(0), ...shared }),
      createTestService(settingsFor(maxSessions), { ...hooksOf(1), ...shared }),
    ] as const;
    return { stores, relays, close: () => closeAll([...relays, { close }]) };
  }
  let now = await start();
  return {
    clock,
    relays: () => now.relays,
    settle: runReady,
    tries: TRIES_IN_PROCESS,
    countKept: async () => now.stores.sessions.countLive(),
    restarted: 'all',
    storeSurvives: true,
    async restart() {
      now.close();
      now = await start();
    },
    close() {
      now.close();
      remove();
    },
  };
}

/** It is evicted. */
export const inDurableObject: OpenWorld = async (maxSessions, hooksOf) => {
  const time = createFakeClock();
  const sql = sqlOf(new Database(':memory:'));
  async function open() {
    const { stores, close } = openDurable(sql, { time, maxSessions });
    return { stores: { ...stores, findProblem: () => undefined }, close };
  }
  return onSqlite(time, open, maxSessions, hooksOf);
};

export const onFile: OpenWorld = async (maxSessions, hooksOf) => {
  const time = createFakeClock();
  const folder = mkdtempSync(join(tmpdir(), 'sessions-file-'));
  const open = () => openFile(join(folder, 'sessions.db'), { time, maxSessions });
  const remove = () => rmSync(folder, { recursive: true });
  return onSqlite(time, open, maxSessions, hooksOf, remove);
};

/** As two processes, each with its own connections. */
export const overRedis =
  (url: string): OpenWorld =>
  async (maxSessions, hooksOf) => {
    const clock = createFakeClock();
    const prefix = `model-${randomUUID()}:`;
    const open = (index: 0 | 1) => openOne(url, prefix, maxSessions, hooksOf(index), clock);
    const current: [Opened, Opened] = [await open(0), await open(1)];
    return {
      clock,
      relays: () => [current[0].relay, current[1].relay],
      async settle() {
        await runReady();
        // Over the same connections: answered after what was asked before.
        await Promise.all(current.map(({ store }) => store.countLive()));
        await runReady();
      },
      tries: TRIES_OVER_REDIS,
      countKept: () => current[0].store.countLive(),
      restarted: 'one',
      storeSurvives: true,
      async restart(index) {
        current[index].close();
        current[index] = await open(index);
      },
      close: () => closeAll(current),
    };
  };

type Opened = Awaited<ReturnType<typeof openOne>>;

async function openOne(
  url: string,
  prefix: string,
  maxSessions: number,
  hooks: Hooks,
  clock: FakeClock,
) {
  const { stores, store } = await openTestRedis(url, { prefix, time: clock, maxSessions });
  const relay = createTestService(settingsFor(maxSessions), { ...hooks, clock, stores });
  return { relay, store, close: relay.close };
}

function closeAll(all: readonly { close(): void }[]): void {
  for (const { close } of all) close();
}
