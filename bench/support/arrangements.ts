/** Relays as they are compared: alone with its memory, alone with Redis, two with one Redis. */
import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import type { Relays } from '../load/sign-in.ts';
import type { Column } from './figures.ts';
import { type Relay, ROOT, startRelay } from './relay.ts';

export interface Arrangement {
  readonly column: Column;
  readonly relays: Relays;
  readonly pids: readonly number[];
  stop(): Promise<unknown>;
}

/** No limit of theirs bites; the log is as in production. */
const UNBOUNDED = { MAX_SESSIONS: '1000000', SESSION_SECONDS: '3600' };

export async function arrangeMemory(
  { env }: Bench,
  settings: Readonly<Record<string, string>> = UNBOUNDED,
): Promise<Arrangement> {
  return arrange('memory', [await startRelay({ ...env, ...settings })]);
}

/** No relay: what the runtime alone takes for the same exchanges. */
export async function arrangeBare({ env }: Bench): Promise<Arrangement> {
  return arrange('bare handlers', [await startRelay(env, [process.execPath, BARE])]);
}

const BARE = join(ROOT, 'bench/bare.ts');

/** Each in a Redis of its own part. */
export async function arrangeOneWithRedis(bench: Bench, url: string): Promise<Arrangement> {
  return arrange('Redis, one relay', [await startWithRedis(bench, url, 'one:')]);
}

/** The device polls at the one, the person comes to the other. */
export async function arrangeTwoWithRedis(bench: Bench, url: string): Promise<Arrangement> {
  const start = () => startWithRedis(bench, url, 'two:');
  return arrange('Redis, two relays', [await start(), await start()]);
}

/** All there can be, each to be started when it is wanted. */
export function arrangements(bench: Bench): (() => Promise<Arrangement>)[] {
  const url = bench.redis?.url;
  if (url === undefined) return [() => arrangeMemory(bench)];
  return [
    () => arrangeMemory(bench),
    () => arrangeOneWithRedis(bench, url),
    () => arrangeTwoWithRedis(bench, url),
  ];
}

function startWithRedis({ env }: Bench, url: string, prefix: string): Promise<Relay> {
  return startRelay({ ...env, ...UNBOUNDED, REDIS_URL: url, REDIS_PREFIX: prefix });
}

function arrange(column: Column, relays: readonly [Relay, ...Relay[]]): Arrangement {
  const [first, second = first] = relays;
  return {
    column,
    relays: { device: first.port, browser: second.port },
    pids: relays.map(({ pid }) => pid),
    stop: () => Promise.all(relays.map((relay) => relay.stop())),
  };
}
