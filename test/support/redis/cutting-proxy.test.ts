import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test';
import { createClient } from '@redis/client';
import { failureOf } from '../failure-of.ts';
import { type CuttingProxy, startCuttingProxy } from './cutting-proxy.ts';
import { pollUntil } from './poll-until.ts';
import type { RedisServer } from './redis-server.ts';
import { startRedis } from './start-redis.ts';

let redis: RedisServer;
let proxy: CuttingProxy;
let client: ReturnType<typeof createClient>;

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

beforeEach(async () => {
  await redis.cli('FLUSHALL');
  proxy = await startCuttingProxy(redis.port);
  client = createClient({ url: proxy.url, disableOfflineQueue: true });
  client.on('error', () => {});
  await client.connect();
});
afterEach(async () => {
  client.destroy();
  await proxy.stop();
});

/** `once` of node:events gives up at the first error, and these tests are about errors. */
const untilEvent = (name: string) => new Promise<void>((resolve) => client.once(name, resolve));

test('a cut connection comes back', async () => {
  const reconnected = untilEvent('ready');
  proxy.cutAll();
  await reconnected;
  expect(await client.ping()).toBe('PONG');
  expect(proxy.traffic().connections).toBe(2);
  await pollUntil('the old one is forgotten', async () => (proxy.open() === 1 ? true : undefined));
});

test('refused: open connections stay, new ones fail until they are taken again', async () => {
  await proxy.refuse(true);
  expect(await client.ping()).toBe('PONG');
  const refused = untilEvent('reconnecting').then(() => untilEvent('reconnecting'));
  proxy.cutAll();
  await refused;
  expect(proxy.open()).toBe(0);
  const reconnected = untilEvent('ready');
  await proxy.refuse(false);
  await reconnected;
  expect(await client.ping()).toBe('PONG');
});

test('stalled requests are not executed, and arrive in their order when let go', async () => {
  proxy.stall('requests');
  const answers = Promise.all([client.append('a', '1'), client.append('a', '2')]);
  await pollUntil('they have come to the proxy', async () =>
    proxy.traffic().commands.get('APPEND'),
  );
  expect(await redis.cli('EXISTS', 'a')).toBe('0');
  proxy.stall(false);
  await answers;
  expect(await redis.cli('GET', 'a')).toBe('12');
});

test('stalled replies: executed, and when the connection is cut nobody learns it', async () => {
  proxy.stall('replies');
  const answer = failureOf(client.incr('a'));
  await pollUntil('it is done', async () =>
    (await redis.cli('GET', 'a')) === '1' ? true : undefined,
  );
  proxy.cutAll();
  proxy.stall(false);
  expect(await answer).toBeInstanceOf(Error);
  expect(await redis.cli('GET', 'a')).toBe('1');
});

test('commands, round trips and bytes are counted', async () => {
  proxy.resetTraffic();
  await client.set('a', 'x'.repeat(200_000));
  await Promise.all([client.get('a'), client.get('a'), client.exists('b')]);
  await client.eval('return {1, {2, "x"}, false}');
  const { commands, roundTrips, requestBytes, replyBytes } = proxy.traffic();
  expect(Object.fromEntries(commands)).toEqual({ SET: 1, GET: 2, EXISTS: 1, EVAL: 1 });
  expect(roundTrips).toBe(3);
  expect(requestBytes).toBeGreaterThan(200_000);
  expect(replyBytes).toBeGreaterThan(400_000);
});

test.each([2, 3] as const)(
  'a subscription in RESP %i is not mistaken for replies',
  async (RESP) => {
    const subscriber = createClient({ url: proxy.url, RESP });
    subscriber.on('error', () => {});
    await subscriber.connect();
    const { promise: heard, resolve } = Promise.withResolvers<string>();
    proxy.resetTraffic();
    await subscriber.sSubscribe('channel', resolve);
    await client.sPublish('channel', 'hello');
    expect(await heard).toBe('hello');
    await client.ping();
    subscriber.destroy();
    expect(proxy.traffic().roundTrips).toBe(3);
  },
);
