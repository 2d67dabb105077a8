/** While no replica keeps up, a failover would undo a claim: nothing is handed out. design.md, Many instances. */
import { afterAll, expect, test } from 'bun:test';
import { ACK_MS } from '../../src/limits.ts';
import type { News } from '../../src/relay/store.ts';
import type { RedisEvent } from '../../src/stores/open-redis.ts';
import { NOW, newSession, registerCompleted, TOKENS } from '../stores/suite/sessions.ts';
import { openTestRedis } from '../stores/support/redis-store.ts';
import { startRedisSentinel } from '../support/redis/start-sentinel.ts';

const group = await startRedisSentinel({ replicas: 1 });
afterAll(() => group.stop());

test('a result that no replica would know handed out is held back, and handed out once one does', async () => {
  const events: string[] = [];
  const replicated = Promise.withResolvers<void>();
  function onEvent({ type }: RedisEvent): void {
    events.push(type);
    if (type === 'store_replicated') replicated.resolve();
  }
  const { store, close } = await openTestRedis(group.url, { maxSessions: 1, onEvent });
  const [, replica] = group.nodes;
  const { pollSecret } = await registerCompleted(store);

  await replica?.freeze();
  expect(await store.claim(pollSecret, NOW)).toEqual({ state: 'pending' });
  expect(events).toEqual(['store_unreplicated']);
  expect(await store.claim(pollSecret, NOW)).toEqual({ state: 'pending' });
  // As alive as before.
  expect(await store.register(newSession(), NOW)).toBe('busy');

  const woken = new Promise<News>((wake) => store.watch(pollSecret, wake));
  replica?.thaw();
  await replicated.promise;
  expect(await woken).toBe('perhaps');
  expect(await store.claim(pollSecret, NOW)).toEqual({ state: 'claimed', result: TOKENS });
  expect(await store.claim(pollSecret, NOW)).toEqual({ state: 'gone' });
  expect(events).toEqual(['store_unreplicated', 'store_replicated']);
  close();
}, 30_000);

test('of two polls at once neither is refused while the claim of one is undone', async () => {
  const prefix = 'both:';
  const [one, other] = [
    await openTestRedis(group.url, { prefix }),
    await openTestRedis(group.url, { prefix }),
  ];
  const [, replica] = group.nodes;
  const { pollSecret } = await registerCompleted(one.store);
  await replica?.freeze();
  const claims = await Promise.all([one, other].map(({ store }) => store.claim(pollSecret, NOW)));
  expect(claims).toEqual([{ state: 'pending' }, { state: 'pending' }]);
  replica?.thaw();
  for (const { close } of [one, other]) close();
}, 30_000);

test('a result that its device confirms is not held back: handed out again it does no harm', async () => {
  const events: string[] = [];
  const onEvent = ({ type }: RedisEvent) => void events.push(type);
  const { store, close } = await openTestRedis(group.url, { onEvent });
  const [, replica] = group.nodes;
  const confirmed = await registerCompleted(store, { repeatMs: ACK_MS });
  const later = await registerCompleted(store, { repeatMs: ACK_MS });
  const { pollSecret } = await registerCompleted(store);
  await replica?.freeze();
  const claimed = { state: 'claimed', result: TOKENS } as const;
  expect(await store.claim(confirmed.pollSecret, NOW)).toEqual(claimed);
  expect(await store.claim(pollSecret, NOW)).toEqual({ state: 'pending' });
  expect(events).toEqual(['store_unreplicated']);
  expect(await store.claim(later.pollSecret, NOW)).toEqual(claimed);
  expect(await store.claim(confirmed.pollSecret, NOW)).toEqual(claimed);
  expect(await store.acknowledge(confirmed.pollSecret, NOW)).toBe('acknowledged');
  replica?.thaw();
  close();
}, 30_000);
