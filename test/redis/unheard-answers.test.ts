/** Redis has done what it was asked, and the line is cut before the relay hears of it. */
import { afterAll, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { NOW, register, registerCompleted, TOKENS } from '../stores/suite/sessions.ts';
import { openTestRedis } from '../stores/support/redis-store.ts';
import { startCuttingProxy } from '../support/redis/cutting-proxy.ts';
import { pollUntil } from '../support/redis/poll-until.ts';
import { startRedis } from '../support/redis/start-redis.ts';

const redis = await startRedis();
const proxy = await startCuttingProxy(redis.port);
const prefix = `unheard-${randomUUID()}:`;
const stores = [
  await openTestRedis(proxy.url, { prefix }),
  await openTestRedis(redis.url, { prefix }),
] as const;
const [cutOff, other] = [stores[0].store, stores[1].store];
afterAll(async () => {
  for (const { close } of stores) close();
  await proxy.stop();
  await redis.stop();
});

/** Resolves with the answer to what is asked while answers are held back, and then cut off. */
async function unheard<T>(ask: () => Promise<T>, isDone: () => Promise<boolean>): Promise<T> {
  proxy.stall('replies');
  const answer = ask();
  await pollUntil('Redis has done it', async () => ((await isDone()) ? true : undefined));
  proxy.cutAll();
  proxy.stall(false);
  return answer;
}

/** Redis knows every script, so the first request is carried out at once. */
async function warmUp(): Promise<void> {
  const { service, browserState, pollSecret } = await register(cutOff);
  await cutOff.lease(service, browserState, NOW);
  await cutOff.complete(service, browserState, TOKENS, NOW);
  await cutOff.claim(pollSecret, NOW);
}
await warmUp();

test('lease: asked again, the same caller has it', async () => {
  const { service, browserState, verifier } = await register(other);
  const lease = await unheard(
    () => cutOff.lease(service, browserState, NOW),
    async () => (await other.open(service, browserState, NOW)) === undefined,
  );
  expect(lease).toEqual({ verifier: String(verifier) });
  expect(await other.lease(service, browserState, NOW)).toBeUndefined();
});

test('complete: asked again, it has succeeded, even if the device has the tokens by then', async () => {
  const { service, browserState, pollSecret } = await register(other);
  await cutOff.lease(service, browserState, NOW);
  let claims = 0;
  const completed = await unheard(
    () => cutOff.complete(service, browserState, TOKENS, NOW),
    async () => {
      if ((await other.claim(pollSecret, NOW)).state === 'claimed') claims += 1;
      return claims > 0;
    },
  );
  expect(completed).toBe(true);
  expect(await other.claim(pollSecret, NOW)).toEqual({ state: 'gone' });
});

test('fail: asked again, it has succeeded', async () => {
  const { service, browserState } = await register(other);
  const failed = await unheard(
    () => cutOff.fail(service, browserState, { error: 'access_denied' }, NOW),
    async () => (await other.open(service, browserState, NOW)) === undefined,
  );
  expect(failed).toBe(true);
});

test('claim: asked again, the same caller has the tokens, and nobody else', async () => {
  await redis.cli('FLUSHALL');
  const { pollSecret } = await registerCompleted(other);
  const key = await redis.cli('KEYS', `${prefix}session:*`);
  const claim = await unheard(
    () => cutOff.claim(pollSecret, NOW),
    async () => (await redis.cli('HGET', key, 's')) === 'd',
  );
  expect(claim).toEqual({ state: 'claimed', result: TOKENS });
  expect(await other.claim(pollSecret, NOW)).toEqual({ state: 'gone' });
});
