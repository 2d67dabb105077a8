import { expect, test } from 'bun:test';
import { createSentinel } from '@redis/client';
import { startRedisSentinel } from './start-sentinel.ts';

const TIMEOUT_MS = 40_000;

test(
  'sentinels promote a replica after the primary is killed, and take it back as a replica',
  async () => {
    const group = await startRedisSentinel({ sentinels: 3, replicas: 2, failsOver: true });
    const client = createSentinel({
      name: 'mymaster',
      sentinelRootNodes: group.sentinels.map(({ port }) => ({ host: '127.0.0.1', port })),
    });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.set('key', '1');
      const old = await group.killPrimary();
      expect(old).toBe(group.nodes[0] ?? old);
      const promoted = await group.waitForPromotion(old);
      expect(promoted).not.toBe(old);
      expect(await promoted.cli('SET', 'key', '2')).toBe('OK');
      await group.waitForReplicas(1);
      await old.restart();
      await group.waitForReplicas(2);
      expect(await old.cli('GET', 'key')).toBe('2');
      expect(await group.primary()).toBe(promoted);
    } finally {
      await client.destroy();
      await group.stop();
    }
  },
  TIMEOUT_MS,
);

test(
  'one sentinel is enough, and a frozen primary is replaced too',
  async () => {
    const user = { name: 'relay', password: 'secret' };
    const group = await startRedisSentinel({
      sentinels: 1,
      replicas: 1,
      failsOver: true,
      tls: true,
      user,
    });
    try {
      expect(group.url).toMatch(/^rediss\+sentinel:\/\/relay:secret@127\.0\.0\.1:\d+\/mymaster$/);
      const old = await group.primary();
      await old.freeze();
      const promoted = await group.waitForPromotion(old);
      old.thaw();
      await group.waitForReplicas(1);
      expect(await promoted.cli('ROLE')).toStartWith('master');
      expect(await old.cli('ROLE')).toStartWith('slave');
    } finally {
      await group.stop();
    }
  },
  TIMEOUT_MS,
);
