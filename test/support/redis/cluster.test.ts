import { expect, test } from 'bun:test';
import { createCluster } from '@redis/client';
import { failureOf } from '../failure-of.ts';
import { pollUntil } from './poll-until.ts';
import { scanRedis } from './scan-redis.ts';
import { startRedisCluster } from './start-cluster.ts';
import { watchChannels } from './watch-channels.ts';

const TIMEOUT_MS = 40_000;

test(
  'a Cluster spreads its keys over three masters, and a scan sees all of them',
  async () => {
    const cluster = await startRedisCluster({ masters: 3 });
    const watch = await watchChannels(cluster.nodes);
    const client = createCluster({ rootNodes: cluster.urls.map((url) => ({ url })) });
    client.on('error', () => {});
    try {
      await client.connect();
      const keys = Array.from({ length: 60 }, (_, index) => `key ${index}`);
      await Promise.all(keys.map((key) => client.set(key, `the value of ${key}`)));
      await Promise.all(keys.map((key) => client.sPublish(key, `a message on ${key}`)));
      const sizes = await Promise.all(cluster.nodes.map((node) => node.cli('DBSIZE')));
      expect(sizes.every((size) => Number(size) > 5)).toBe(true);

      const scan = await scanRedis(cluster.nodes, watch);
      for (const key of keys) {
        const owner = await cluster.ownerOf(key);
        const value = `${owner.url}: the value of string "${key}" (plain)`;
        const message = `${owner.url}: a message on channel "${key}" (plain)`;
        expect(scan.find(`the value of ${key}`)).toContain(value);
        expect(scan.find(`a message on ${key}`)).toContain(message);
      }
    } finally {
      client.destroy();
      watch.stop();
      await cluster.stop();
    }
  },
  TIMEOUT_MS,
);

test(
  'a replica takes the place of a master that is killed, over TLS and with an ACL user too',
  async () => {
    const user = { name: 'relay', password: 'secret' };
    const cluster = await startRedisCluster({ masters: 3, replicas: 1, tls: true, user });
    try {
      const old = await cluster.ownerOf('key');
      await old.cli('SET', 'key', '1');
      await old.kill();
      expect(await failureOf(old.cli('PING'))).toBeInstanceOf(Error);
      const owner = await cluster.waitForNewOwner('key', old);
      expect(await owner.cli('SET', 'key', '2')).toBe('OK');
      await old.restart();
      await cluster.waitUntilReady();
      await pollUntil('the old master is a replica', async () =>
        (await old.cli('ROLE')).startsWith('slave') ? true : undefined,
      );
    } finally {
      await cluster.stop();
    }
  },
  TIMEOUT_MS,
);
