/** Two relays on one Redis, one of them behind a proxy that cuts its connections or holds bytes back. */
import { type CuttingProxy, startCuttingProxy } from '../../support/redis/cutting-proxy.ts';
import { pollUntil } from '../../support/redis/poll-until.ts';
import type { RedisServer } from '../../support/redis/redis-server.ts';
import { startRedis } from '../../support/redis/start-redis.ts';
import type { RelayProcess } from '../../support/relay-process.ts';
import { startSessionWithCode } from '../../support/wire.ts';
import { pollUntilDone } from './device.ts';
import { bringCode, makeCode } from './person.ts';
import { type PairOptions, startRelayPair } from './relay-pair.ts';
import type { TokenEndpoint } from './token-endpoint.ts';

export interface CutOffPair {
  readonly redis: RedisServer;
  readonly proxy: CuttingProxy;
  /** Behind the proxy. */
  readonly cutOff: RelayProcess;
  readonly other: RelayProcess;
  readonly provider: TokenEndpoint;
}

/** The stack ends all of it. */
export async function startCutOffPair(
  stack: AsyncDisposableStack,
  options: Pick<PairOptions, 'env'> = {},
): Promise<CutOffPair> {
  const redis = await startRedis();
  stack.defer(() => redis.stop());
  const proxy = await startCuttingProxy(redis.port);
  stack.defer(() => proxy.stop());
  const each = [{ env: { REDIS_URL: proxy.url } }, {}] as const;
  const pair = stack.use(await startRelayPair(redis.url, { ...options, each }));
  const [cutOff, other] = pair.relays;
  await teachScripts(cutOff);
  await redis.cli('FLUSHALL');
  return { redis, proxy, cutOff, other, provider: pair.provider };
}

/** A whole sign-in by code: from now on Redis carries out every script at the first request. */
async function teachScripts(relay: RelayProcess): Promise<void> {
  const { session, state, link } = await startSessionWithCode(relay.baseUrl, 'mal');
  await goOn(relay, link);
  await (await bringCode(relay, state, makeCode())).body?.cancel();
  await pollUntilDone([relay], session);
}

/** The person continues on the page of the code; the link may be another relay's. */
export function goOn({ baseUrl }: { readonly baseUrl: string }, link: string): Promise<Response> {
  return fetch(baseUrl + new URL(link).pathname, {
    method: 'POST',
    body: new URLSearchParams({ choice: 'continue' }),
    headers: { 'Sec-Fetch-Site': 'same-origin' },
    redirect: 'manual',
  });
}

/** Resolves when Redis has the only live session in this state (redis-scripts.ts). */
export async function untilSessionIs(
  redis: RedisServer,
  state: 'p' | 'x' | 'c' | 'd',
): Promise<void> {
  await pollUntil(`the session is in state ${state}`, async () => {
    const keys = (await redis.cli('KEYS', '*:session:*')).split('\n').filter(Boolean);
    const states = await Promise.all(keys.map((key) => redis.cli('HGET', key, 's')));
    return states.includes(state) || undefined;
  });
}

/** Resolves when the only user code there is has been used, or can be used again. */
export async function untilCodeIs(redis: RedisServer, state: 'used' | 'unused'): Promise<void> {
  await pollUntil(`the code is ${state}`, async () => {
    // Buckets of the rate limit have an address after `code:`.
    const keys = (await redis.cli('KEYS', '*:code:*')).split('\n');
    const key = keys.find((each) => /:code:[\w-]{22}$/.test(each)) ?? '';
    const isUsed = (await redis.cli('GET', key)).startsWith('0.');
    return isUsed === (state === 'used') || undefined;
  });
}
