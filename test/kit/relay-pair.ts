/** Two relays on one Redis, as their operator starts them, and the mock provider of both. */
import { randomUUID } from 'node:crypto';
import type { Session } from '../../src/sign-ins/session.ts';
import { poll, pollUntilDone, startWithCode, UNKNOWN_SECRET } from './device.ts';
import { startTokenEndpoint } from './provider.ts';
import { type RedisServer, startRedis } from './redis/server.ts';
import { type RelayProcess, startRelay } from './relay.ts';
import { startCuttingProxy } from './tcp-proxy.ts';
import { bringCode, continueWithCode, makeCode } from './user.ts';
import { pollUntil } from './wait.ts';

type Env = Readonly<Record<string, string>>;

export type RelayPair = Awaited<ReturnType<typeof startRelayPair>>;

interface PairOptions {
  readonly env?: Env;
  /** For the first relay alone. */
  readonly first?: Env;
}

/** Longer than any test: a poll that is answered earlier was notified. */
export const LONG_POLL_SECONDS = '230';

export async function startRelayPair(redisUrl: string, { env = {}, first = {} }: PairOptions = {}) {
  await using stack = new AsyncDisposableStack();
  const provider = stack.use(startTokenEndpoint());
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
  async function startOne(own: Env): Promise<RelayProcess> {
    const relay = await startRelay({ ...shared, ...own });
    // A drain would ask a store that may not be there any more.
    stack.defer(async () => void (await relay.stop('SIGKILL')));
    return relay;
  }
  const relays = await Promise.all([startOne(first), startOne({})]);
  const owned = stack.move();
  return { provider, relays, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

export type CutOffPair = Awaited<ReturnType<typeof startCutOffPair>>;

/** One of the two relays is behind a proxy that cuts its connections to Redis or holds bytes back. */
export async function startCutOffPair(env: Env = {}) {
  await using stack = new AsyncDisposableStack();
  const redis = stack.use(await startRedis());
  const proxy = stack.use(await startCuttingProxy(redis.port));
  const first = { REDIS_URL: proxy.url };
  const pair = stack.use(await startRelayPair(redis.url, { env, first }));
  const [cutOff, other] = pair.relays;
  // A whole sign-in by code: from now on Redis knows every script, and executes it at the first request.
  const { session, link } = await startWithCode(cutOff);
  const state = await continueWithCode(cutOff, link);
  await (await bringCode(cutOff, state, makeCode())).body?.cancel();
  await pollUntilDone([cutOff], session);
  await redis.cli('FLUSHALL');
  const owned = stack.move();
  const { provider } = pair;
  return {
    redis,
    proxy,
    /** Behind the proxy. */
    cutOff,
    other,
    provider,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
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
