/** Two relays on one store, of each kind. Time is the test's everywhere. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Stores } from '../../src/service.ts';
import { createFakeClock, type FakeClock, runReady } from '../kit/clock.ts';
import { newFolder } from '../kit/folder.ts';
import { createTestService, type TestServiceOptions } from '../kit/service.ts';
import { openFile, openMemory, openTestRedis } from '../kit/stores.ts';

/** What a relay is created with; another time when it restarts. */
export type Hooks = Required<Pick<TestServiceOptions, 'fetch' | 'beforeStore'>>;

export interface Kind {
  /** The store, as one process opens it. */
  open(options: { time: FakeClock; maxSessions: number }): Promise<Opened>;
  /** The relays are processes, each with its own connections. Otherwise both are in one. */
  readonly areApart: boolean;
  readonly storeSurvives: boolean;
}

type Opened = Pick<Awaited<ReturnType<typeof openFile>>, 'close' | 'store'> & {
  readonly stores: Stores;
  /** What is kept in memory. */
  sizes?(): { readonly sessions: number };
};

export const inMemory = (): Kind => ({
  open: async (options) => openMemory(options),
  areApart: false,
  storeSurvives: false,
});

export function onFile(): Kind {
  const path = join(newFolder(), 'sessions.db');
  return { open: (options) => openFile(path, options), areApart: false, storeSurvives: true };
}

export function overRedis(url: string): Kind {
  const prefix = `model-${randomUUID()}:`;
  return {
    open: (options) => openTestRedis(url, { prefix, ...options }),
    areApart: true,
    storeSurvives: true,
  };
}

export type World = Awaited<ReturnType<typeof createWorld>>;

export async function createWorld(
  { open, areApart, storeSurvives }: Kind,
  maxSessions: number,
  hooksOf: (relay: 0 | 1) => Hooks,
) {
  const clock = createFakeClock();
  async function start(relays: readonly (0 | 1)[]) {
    const opened = await open({ time: clock, maxSessions });
    // Closed once, and not with each relay.
    const stores = { ...opened.stores, close() {} };
    const services = relays.map((relay) =>
      createTestService({ maxSessions, ...hooksOf(relay), clock, stores }),
    );
    return { opened, services, close: () => closeAll([...services, opened]) };
  }
  const relaysOf: (0 | 1)[][] = areApart ? [[0], [1]] : [[0, 1]];
  const processes = await Promise.all(relaysOf.map(start));
  return {
    clock,
    storeSurvives,
    relays() {
      const [first, second] = processes.flatMap(({ services }) => services);
      if (first === undefined || second === undefined) throw new Error('two relays');
      return [first, second] as const;
    },
    /** Resolves once everything that is ready has happened. */
    async settle() {
      await runReady();
      if (!areApart) return;
      // Over the same connections: answered after what was asked before.
      await Promise.all(processes.map(({ opened }) => opened.stores.sessions.countLive()));
      await runReady();
    },
    /** How often the test looks whether a relay has done what it must: over Redis for ten seconds and more. */
    tries: areApart ? 5_000 : 200,
    /** What is left in the store. */
    async countKept() {
      const opened = processes[0]?.opened;
      return opened?.sizes?.().sessions ?? opened?.store.countLive();
    },
    /** The relays that a restart of this one kills. */
    killedWith: (relay: 0 | 1) => relaysOf.find((relays) => relays.includes(relay)) ?? [],
    async restart(relay: 0 | 1) {
      const nth = relaysOf.findIndex((relays) => relays.includes(relay));
      processes[nth]?.close();
      processes[nth] = await start(relaysOf[nth] ?? []);
    },
    close: () => closeAll(processes),
  };
}

function closeAll(all: readonly { close(): void }[]): void {
  for (const { close } of all) close();
}

/** Resolves when `isSo` is true, or after the last try: the caller checks which. */
export async function until(
  { settle, tries }: World,
  isSo: () => boolean | Promise<boolean>,
): Promise<void> {
  for (let left = tries; left > 0; left -= 1) {
    await settle();
    if (await isSo()) return;
  }
}
