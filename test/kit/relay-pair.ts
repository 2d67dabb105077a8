/** Two relays on one Redis, as their operator starts them, and the mock provider of both. */
import { randomUUID } from 'node:crypto';
import type { Session } from '../../src/sign-ins/session.ts';
import { poll, UNKNOWN_SECRET } from './device.ts';
import { startTokenEndpoint } from './provider.ts';
import { type RedisServer, startRedis } from './redis/server.ts';
import { type RelayProcess, startRelay } from './relay.ts';
import { startCuttingProxy } from './tcp-proxy.ts';
import { startWaiting } from './user.ts';
import { pollUntil } from './wait.ts';

type Env = Readonly<Record<string, string>>;

export type RelayPair = Awaited<ReturnType<typeof startRelayPair>>;

/** Longer than any test: a poll that is answered earlier was notified. */
export const LONG_POLL_SECONDS = '230';

/** `first`: settings of the first relay alone. */
export async function startRelayPair(redisUrl: string, env: Env = {}, first: Env = {}) {
  const provider = startTokenEndpoint();
  const shared = {
    REDIS_URL: redisUrl,
    REDIS_PREFIX: `test-${randomUUID()}:`,
    MAL_TOKEN_URL: provider.tokenUrl,
    START_BURST: '1000000',
    POLL_SECONDS: LONG_POLL_SECONDS,
    // As `npm start` has it: more exchanges at once than the runtime's default.
    BUN_CONFIG_MAX_HTTP_REQUESTS: '5000',
    ...env,
  };
  const relays = await Promise.all([startRelay({ ...shared, ...first }), startRelay(shared)]);
  return {
    provider,
    relays,
    async [Symbol.asyncDispose]() {
      // A drain would ask a store that may not be there any more.
      await Promise.all(relays.map((relay) => relay.stop('SIGKILL')));
      provider.stop();
    },
  };
}

export type CutOffPair = Awaited<ReturnType<typeof startCutOffPair>>;

/** One of the two relays is behind a proxy that cuts its connections to Redis or holds bytes back. */
export async function startCutOffPair() {
  const redis = await startRedis();
  const proxy = await startCuttingProxy(redis.port);
  const pair = await startRelayPair(redis.url, {}, { REDIS_URL: proxy.url });
  const [cutOff, other] = pair.relays;
  // A whole sign-in: from now on Redis knows every script, and executes it at the first request.
  await (await startWaiting(cutOff)).expectSignsIn();
  await redis.cli('FLUSHALL');
  return {
    redis,
    proxy,
    /** Behind the proxy. */
    cutOff,
    other,
    provider: pair.provider,
    async [Symbol.asyncDispose]() {
      await pair[Symbol.asyncDispose]();
      await redis.stop();
    },
  };
}

/** Resolves when the poll is parked: its relay has looked the session up in the store. */
export async function park(relay: RelayProcess, session: string) {
  const before = relay.events('poll_waiting').length;
  const answer = poll(relay, session);
  // The test may look at the answer later.
  answer.catch(() => {});
  await relay.untilParked(before + 1);
  // It uses the same connection to the store, so it is answered after that look-up.
  await poll(relay, UNKNOWN_SECRET);
  return { answer };
}

/** Resolves when Redis has a session in this state. */
export async function untilSessionIs(redis: RedisServer, state: Session['state']): Promise<void> {
  await pollUntil(`a session is in state ${state}`, async () => {
    const keys = await redis.keys('*:sign-in:*');
    const records = await Promise.all(keys.map((key) => redis.cli('GET', key)));
    return records.some((record) => record.includes(`"state":"${state}"`));
  });
}
