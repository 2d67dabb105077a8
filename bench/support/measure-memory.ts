import { randomBytes } from 'node:crypto';
import { createCapability, createVerifier } from '../../src/relay/secrets.ts';
import type { NewSession, SessionStore } from '../../src/relay/store.ts';
import { type RedisServer, startRedis } from '../../test/kit/redis/server.ts';
import { openTestRedis } from '../../test/kit/stores.ts';
import { runMany, TOKENS } from './sign-ins.ts';

const SESSIONS = 10_000;

/** With Redis as it comes, and with longer values in compact hashes. */
export async function measureMemory(): Promise<string[]> {
  const lines: string[] = [];
  for (const longest of [64, 512, 4_096]) {
    const redis = await startRedis({ args: ['--hash-max-listpack-value', String(longest)] });
    try {
      const { pending, completed, keys } = await fill(redis);
      lines.push(
        `hash-max-listpack-value ${longest}: waiting ${pending} bytes, completed ${completed} bytes (${keys})`,
      );
    } finally {
      await redis.stop();
    }
  }
  return lines;
}

async function fill(redis: RedisServer) {
  const { stores, close } = await openTestRedis(redis.url, {
    prefix: 'sign-in-relay:',
    maxSessions: SESSIONS,
    usesOwnTime: true,
  });
  const { store } = stores;
  try {
    const empty = await usedMemory(redis);
    const sessions: NewSession[] = [];
    await runMany(SESSIONS, 100, async () => sessions.push(await registerAwaited(store)));
    const pending = await usedMemory(redis);
    const keys = await describeKeys(redis);
    await Promise.all(
      sessions.map(async ({ service, browserState }) => {
        await store.lease(service, browserState, 0);
        await store.complete(service, browserState, TOKENS, 0);
      }),
    );
    const completed = await usedMemory(redis);
    const each = (used: number) => Math.round((used - empty) / SESSIONS);
    return { pending: each(pending), completed: each(completed), keys };
  } finally {
    close();
  }
}

/** As real ones are: with a verifier, and a poll that waits. */
async function registerAwaited(store: SessionStore): Promise<NewSession> {
  const session = {
    browserState: createCapability(randomBytes),
    pollSecret: createCapability(randomBytes),
    service: 'mal',
    verifier: createVerifier(randomBytes),
    lifetimeMs: 600_000,
  };
  const outcome = await store.register(session, 0);
  if (outcome !== 'registered') throw new Error(`not registered: ${outcome}`);
  await store.claim(session.pollSecret, 0);
  return session;
}

async function usedMemory(redis: RedisServer): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await redis.cli('INFO', 'memory'))?.[1]);
}

async function describeKeys(redis: RedisServer): Promise<string> {
  const usage = async (pattern: string) => {
    const [, keys = ''] = (await redis.cli('SCAN', 0, 'MATCH', pattern, 'COUNT', 1_000)).split(
      /\n(.*)/s,
    );
    const [key = ''] = keys.split('\n');
    return Number(await redis.cli('MEMORY', 'USAGE', key));
  };
  const live = Number(await redis.cli('MEMORY', 'USAGE', 'sign-in-relay:live', 'SAMPLES', 0));
  const [session, pointer] = [await usage('*session:*'), await usage('*poll:*')];
  return `waiting: session ${session}, pointer ${pointer}, place ${Math.round(live / SESSIONS)}`;
}
