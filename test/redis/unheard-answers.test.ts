/** Redis has done what it was asked, and the line is cut before the relay hears of it. */
import { afterAll, expect, test } from 'bun:test';
import { randomBytes, randomUUID } from 'node:crypto';
import { ACK_MS } from '../../src/limits.ts';
import { deriveFromRefresh } from '../../src/stores/seal.ts';
import {
  makeUserCode,
  NOW,
  register,
  registerCompleted,
  TOKENS,
} from '../stores/suite/sessions.ts';
import { openTestRedis } from '../stores/support/redis-store.ts';
import { startCuttingProxy } from '../support/redis/cutting-proxy.ts';
import { pollUntil } from '../support/redis/poll-until.ts';
import { startRedis } from '../support/redis/start-redis.ts';

const REQUEST_ID_BYTES = 12;

const redis = await startRedis();
const proxy = await startCuttingProxy(redis.port);
const prefix = `unheard-${randomUUID()}:`;
const stores = [
  await openTestRedis(proxy.url, { prefix }),
  await openTestRedis(redis.url, { prefix }),
] as const;
const [cutOff, other] = [stores[0].store, stores[1].store];
const { refreshAnswers } = stores[0];
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
  const { userCode } = await register(cutOff, { userCode: makeUserCode() });
  await cutOff.useCode(String(userCode), NOW);
  await refreshAnswers.begin('warm-up', NOW);
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

test('a claim that is to be confirmed: asked again, the device has the tokens', async () => {
  await redis.cli('FLUSHALL');
  const { pollSecret } = await registerCompleted(other, { repeatMs: ACK_MS });
  const key = await redis.cli('KEYS', `${prefix}session:*`);
  const claim = await unheard(
    () => cutOff.claim(pollSecret, NOW),
    async () => (await redis.cli('HGET', key, 's')) === 'd',
  );
  expect(claim).toEqual({ state: 'claimed', result: TOKENS });
  expect(await other.acknowledge(pollSecret, NOW)).toBe('acknowledged');
});

test('the use of a code: asked again, the same caller has the session, and nobody else', async () => {
  const { browserState, userCode = '' } = await register(other, { userCode: makeUserCode() });
  // Each request makes itself a name once it has looked at the session, and then uses the code.
  const named = Promise.withResolvers<void>();
  const { store, close } = await openTestRedis(proxy.url, {
    prefix,
    randomBytes(length) {
      if (length === REQUEST_ID_BYTES) {
        proxy.stall('replies');
        named.resolve();
      }
      return randomBytes(length);
    },
  });
  const found = store.useCode(userCode, NOW);
  await named.promise;
  await pollUntil('the code is used', async () =>
    (await other.find({ userCode }, NOW)) === undefined ? true : undefined,
  );
  proxy.cutAll();
  proxy.stall(false);
  expect(await found).toMatchObject({ browserState });
  expect(await other.useCode(userCode, NOW)).toBeUndefined();
  close();
});

test('the turn of a refresh: asked again, the same caller has it', async () => {
  const key = `mal ${randomUUID()}`;
  const turn = await unheard(
    () => refreshAnswers.begin(key, NOW),
    async () => (await redis.cli('KEYS', `${prefix}refresh:*`)).includes(deriveFromRefresh(key).id),
  );
  expect(turn).toEqual({ state: 'yours' });
  expect(await stores[1].refreshAnswers.begin(key, NOW)).toEqual({ state: 'under_way' });
});
