/**
 * The connection is cut after Redis has executed a command and before the relay has read
 * the reply: the command is repeated, and has the same outcome. A repetition that is
 * refused proves nothing about the attempt before it. Leases and deliveries: lost-answers.test.ts.
 */
import { afterEach, expect, setDefaultTimeout, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import type { Awaitable } from '../../src/sign-ins/store.ts';
import { STORE_BRIEF_RETRY_MS } from '../kit/limits.ts';
import { startRedis } from '../kit/redis/server.ts';
import { untilSessionIs } from '../kit/relay-pair.ts';
import { create, DELIVERED, GONE, openTestRedis } from '../kit/stores.ts';
import { startCuttingProxy } from '../kit/tcp-proxy.ts';
import { pollUntil } from '../kit/wait.ts';

setDefaultTimeout(120_000);

const redis = await startRedis();
const proxy = await startCuttingProxy(redis.port);
const prefix = `repeated-${randomUUID()}:`;
const [behind, direct] = [
  await openTestRedis(proxy.url, { prefix }),
  await openTestRedis(redis.url, { prefix }),
];
const [cutOff, other] = [behind.store, direct.store];

// Redis knows the scripts from here on, so the first request is executed at once.
await create(cutOff);

/** A test that fails leaves the connection as the next one expects it. */
afterEach(() => proxy.stall(false));

/** Resolves with the answer to what is asked; the reply to `script` is held back, and then cut off. */
async function cutAfter<T>(
  script: string,
  ask: () => Awaitable<T>,
  isDone: () => Promise<unknown>,
): Promise<T> {
  const asked = proxy.stallFrom(script);
  const answer = ask();
  await asked;
  await pollUntil('Redis has executed it', isDone);
  proxy.cutAll();
  proxy.stall(false);
  return answer;
}

test('complete: it has succeeded, even if the device has received the tokens meanwhile', async () => {
  const session = await create(other);
  await cutOff.lease(session);
  let claims = 0;
  const completed = await cutAfter(
    'commit',
    () => cutOff.complete(session),
    async () => {
      if ((await other.poll(session.pollSecret)).state === 'delivered') claims += 1;
      return claims > 0;
    },
  );
  expect(completed).toBe(true);
  expect(await other.poll(session.pollSecret)).toEqual(GONE);
});

test('the lease of a refresh: a repeated command of its holder gets it again', async () => {
  const before = await redis.keys(`${prefix}refresh:*`);
  const key = `mal ${randomUUID()}`;
  const begun = await cutAfter(
    'beginRefresh',
    () => behind.refreshes.begin(key),
    async () => (await redis.keys(`${prefix}refresh:*`)).length > before.length,
  );
  expect(begun).toEqual({ state: 'acquired' });
  expect(await direct.refreshes.begin(key)).toEqual({ state: 'in_progress' });
});

test('complete: a refused repetition proves nothing, so it repeats until it succeeds', async () => {
  await redis.cli('FLUSHALL');
  const session = await create(other);
  await cutOff.lease(session);
  const asked = proxy.stallFrom('commit');
  const completed = cutOff.complete(session);
  await asked;
  await untilSessionIs(redis, 'completed');
  await redis.cli('ACL', 'SETUSER', 'default', '-evalsha');
  proxy.cutAll();
  proxy.stall(false);
  await Bun.sleep(STORE_BRIEF_RETRY_MS);
  await redis.cli('ACL', 'SETUSER', 'default', '+evalsha');
  expect(await completed).toBe(true);
  expect(await other.poll(session.pollSecret)).toEqual(DELIVERED);
});
