import { afterAll, beforeAll, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { RedisServer } from './redis-server.ts';
import { scanRedis } from './scan-redis.ts';
import { startRedis } from './start-redis.ts';
import { type ChannelWatch, watchChannels } from './watch-channels.ts';

let redis: RedisServer;
let watch: ChannelWatch;

beforeAll(async () => {
  redis = await startRedis();
  watch = await watchChannels(redis);
});

afterAll(async () => {
  watch.stop();
  await redis.stop();
});

const makeSecret = () => randomBytes(18).toString('base64url');

/** Where a scan finds the secret; `…` stands for the secret itself. */
async function find(secret: string, server = redis): Promise<string[]> {
  const scan = await scanRedis(server, watch);
  expect(scan.size).toBeGreaterThan(0);
  expect(scan.find(makeSecret())).toEqual([]);
  return scan
    .find(secret)
    .map((place) => place.replace(`${server.url}: `, '').replaceAll(secret, '…'));
}

type Plant = (secret: string) => (string | number)[];

const KEPT: [string, Plant][] = [
  ['the name of string "k:…"', (secret) => ['SET', `k:${secret}`, 1]],
  ['the value of string "a"', (secret) => ['SET', 'a', secret]],
  ['the value of hash "b"', (secret) => ['HSET', 'b', 'field', secret]],
  ['the value of hash "c"', (secret) => ['HSET', 'c', secret, 'value']],
  ['the value of list "d"', (secret) => ['RPUSH', 'd', secret]],
  ['the value of set "e"', (secret) => ['SADD', 'e', secret]],
  ['the value of zset "f"', (secret) => ['ZADD', 'f', 1, secret]],
  ['the value of stream "g"', (secret) => ['XADD', 'g', '*', 'field', secret]],
  ['the value of stream "h"', (secret) => ['XGROUP', 'CREATE', 'h', secret, 0, 'MKSTREAM']],
  ['the value of string "other"', (secret) => ['-n', 3, 'SET', 'other', `before ${secret} after`]],
];

test.each(KEPT)('a scan finds a secret in %s, and in the dump', async (place, plant) => {
  const secret = makeSecret();
  await redis.cli(...plant(secret));
  expect(await find(secret)).toEqual([`${place} (plain)`, 'the file dump.rdb (plain)']);
  expect(existsSync(join(redis.folder, 'dump.rdb'))).toBe(false);
});

const publish = (command: string, secret: string) => [
  ...['EVAL', `redis.call("${command}", "m", ARGV[1])`, 0],
  `before\n"${secret}\x01`,
];

const PASSING: [string, Plant][] = [
  ['the name of channel "i:…"', (secret) => ['PUBLISH', `i:${secret}`, 1]],
  ['a message on channel "i"', (secret) => ['PUBLISH', 'i', secret]],
  ['the name of channel "j:…"', (secret) => ['SPUBLISH', `j:${secret}`, 1]],
  ['a message on channel "j"', (secret) => ['SPUBLISH', 'j', secret]],
  ['a message on channel "m"', (secret) => publish('PUBLISH', secret)],
  ['a message on channel "m"', (secret) => publish('SPUBLISH', secret)],
];

test.each(PASSING)('a scan finds a secret that passed in %s', async (place, plant) => {
  const secret = makeSecret();
  await redis.cli(...plant(secret));
  expect(await find(secret)).toEqual([`${place} (plain)`]);
});

test('a scan finds a secret in the slow log and in the append-only file', async () => {
  const server = await startRedis({
    args: ['--appendonly', 'yes', '--slowlog-log-slower-than', '0'],
  });
  try {
    const secret = makeSecret();
    await server.cli('SET', 'gone', secret);
    await server.cli('DEL', 'gone');
    const places = await find(secret, server);
    expect(places).toContain('the slow log (plain)');
    expect(places.join()).toMatch(/the file appendonly\.aof\.\d+\.incr\.aof \(plain\)/);
  } finally {
    await server.stop();
  }
});

test('a scan finds what is on any one of several servers', async () => {
  const other = await startRedis({ tls: true, user: { name: 'relay', password: 'a word' } });
  try {
    const secret = makeSecret();
    await other.cli('SET', 'a', Buffer.from(secret).toString('hex'));
    const places = (await scanRedis([redis, other])).find(secret);
    expect(places).toContain(`${other.url}: the value of string "a" (hex)`);
  } finally {
    await other.stop();
  }
});
