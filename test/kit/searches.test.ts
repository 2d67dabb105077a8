/**
 * Tools of the kit that find what must not be there. If one of them were blind, every
 * test that uses it would pass: each is shown something that it must find.
 */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createFindProblems, readApiDocument, type Seen } from './api-document.ts';
import { startRedisCluster } from './redis/groups.ts';
import { scanRedis, watchChannels } from './redis/scan.ts';
import { type RedisServer, startRedis } from './redis/server.ts';
import { startRelay } from './relay.ts';
import { formsOf, searchLogs } from './secrets.ts';

setDefaultTimeout(30_000);

const makeSecret = () => randomBytes(18).toString('base64url');

describe('the forms of a secret', () => {
  /** Has a slash and a plus in base64, and a quotation mark. */
  const SECRET = 'a "secret"? ~~~>>>???';

  function formsIn(text: string, secret = SECRET): string[] {
    const bytes = Buffer.from(text, 'latin1');
    return formsOf(secret)
      .filter((form) => bytes.includes(form.bytes))
      .map(({ name }) => name);
  }

  test.each([0, 1, 2, 3, 4, 5])('base64 is found %i bytes into a longer text', (before) => {
    const longer = Buffer.from(`${'x'.repeat(before)}${SECRET}and more`);
    expect(formsIn(longer.toString('base64'))).toContain('base64');
    expect(formsIn(longer.toString('base64url'))).toContain('base64url');
  });

  test('hex is found in both cases; JSON, cjson and URL escapes are found', () => {
    const hex = Buffer.from(SECRET).toString('hex');
    expect(formsIn(`.${hex}.`)).toEqual(['hex']);
    expect(formsIn(`.${hex.toUpperCase()}.`)).toEqual(['hex']);
    expect(formsIn(JSON.stringify({ SECRET }))).toEqual(['plain, escaped']);
    expect(formsIn(`?state=${encodeURIComponent(SECRET)}`)).toEqual(['plain, escaped']);
    const base64 = Buffer.from(SECRET).toString('base64');
    expect(formsIn(base64.replaceAll('/', '\\/'))).toEqual(['base64, escaped']);
  });

  test('the bytes that an encoded secret stands for are found', () => {
    const bytes = Buffer.from('00ff10ef20df30cf40bf50af609f708f', 'hex');
    for (const encoding of ['base64url', 'hex'] as const) {
      const found = formsIn(`.${bytes.toString('latin1')}.`, bytes.toString(encoding));
      expect(found).toEqual([`decoded from ${encoding}, plain`]);
    }
  });

  test('another text is not found, and too short a secret is refused', () => {
    expect(formsIn('another "secret"? ~~>>???')).toEqual([]);
    expect(() => formsOf('1234567')).toThrow('too short');
  });
});

test('the log search finds a planted secret in any of its forms, and nothing else', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-search-'));
  const [logs, planted] = [join(folder, 'logs'), join(folder, 'planted.txt')];
  const secrets = Array.from({ length: 5 }, makeSecret);
  const [plain = '', encoded = '', ...others] = secrets;
  mkdirSync(logs);
  writeFileSync(planted, `${secrets.join('\n')}\n`);
  writeFileSync(join(logs, 'one.log'), `{"event":"x","state":"${plain}"}\n`);
  writeFileSync(join(logs, 'two.log'), `a line with x${btoa(encoded)}\n`);
  writeFileSync(join(logs, 'three.log'), `${others.map((each) => each.slice(1)).join('\n')}\n`);
  const { findings } = searchLogs(logs, planted);
  rmSync(folder, { recursive: true });
  expect(findings.toSorted()).toEqual([
    `one.log contains ${plain.slice(0, 6)}…`,
    `two.log contains ${encoded.slice(0, 6)}…`,
  ]);
});

describe('a scan of Redis finds a secret', async () => {
  const [redis, secured, cluster] = await Promise.all([
    startRedis({ args: ['--slowlog-log-slower-than', '-1'] }),
    startRedis({
      tls: true,
      user: { name: 'relay', password: 'a word' },
      args: ['--appendonly', 'yes', '--slowlog-log-slower-than', '0'],
    }),
    startRedisCluster(),
  ]);
  const watch = await watchChannels([redis]);
  afterAll(async () => {
    watch.stop();
    await Promise.all([redis.stop(), secured.stop(), cluster.stop()]);
  });

  /** The places where it is found; `…` stands for the secret. */
  async function find(secret: string, servers: readonly RedisServer[] = [redis]) {
    const scan = await scanRedis(servers, watch);
    expect(scan.size).toBeGreaterThan(0);
    expect(scan.find(makeSecret())).toEqual([]);
    const places = scan.find(secret);
    return places.map((place) => place.replace(/^\S+: /, '').replaceAll(secret, '…'));
  }

  type Write = (secret: string) => (string | number)[];

  const publishInScript = (command: string, secret: string) => [
    ...['EVAL', `redis.call("${command}", "m", ARGV[1])`, 0],
    `before\n"${secret}\x01`,
  ];

  test.each<[string, Write]>([
    ['the name of string "k:…"', (secret) => ['SET', `k:${secret}`, 1]],
    ['the value of string "a"', (secret) => ['SET', 'a', secret]],
    ['the value of hash "b"', (secret) => ['HSET', 'b', 'field', secret]],
    ['the value of hash "c"', (secret) => ['HSET', 'c', secret, 'value']],
    ['the value of list "d"', (secret) => ['RPUSH', 'd', secret]],
    ['the value of set "e"', (secret) => ['SADD', 'e', secret]],
    ['the value of zset "f"', (secret) => ['ZADD', 'f', 1, secret]],
    ['the value of stream "g"', (secret) => ['XADD', 'g', '*', 'field', secret]],
    ['the value of stream "h"', (secret) => ['XGROUP', 'CREATE', 'h', secret, 0, 'MKSTREAM']],
    ['the value of string "other"', (secret) => ['-n', 3, 'SET', 'other', `an ${secret} end`]],
  ])('in %s, and in a dump', async (place, write) => {
    const secret = makeSecret();
    await redis.cli(...write(secret));
    expect(await find(secret)).toEqual([`${place} (plain)`, 'the file dump.rdb (plain)']);
    expect(existsSync(join(redis.folder, 'dump.rdb'))).toBe(false);
  });

  test.each<[string, Write]>([
    ['the name of channel "i:…"', (secret) => ['PUBLISH', `i:${secret}`, 1]],
    ['a message on channel "i"', (secret) => ['PUBLISH', 'i', secret]],
    ['the name of channel "j:…"', (secret) => ['SPUBLISH', `j:${secret}`, 1]],
    ['a message on channel "j"', (secret) => ['SPUBLISH', 'j', secret]],
    ['a message on channel "m"', (secret) => publishInScript('PUBLISH', secret)],
    ['a message on channel "m"', (secret) => publishInScript('SPUBLISH', secret)],
  ])('that passed in %s', async (place, publish) => {
    const secret = makeSecret();
    await redis.cli(...publish(secret));
    expect(await find(secret)).toEqual([`${place} (plain)`]);
  });

  test('in the slow log and the append-only file, over TLS', async () => {
    const secret = makeSecret();
    await secured.cli('SET', 'removed', secret);
    await secured.cli('DEL', 'removed');
    const places = await find(secret, [secured]);
    expect(places).toContain('the slow log (plain)');
    expect(places.join()).toMatch(/the file appendonly\.aof\.\d+\.incr\.aof \(plain\)/);
  });

  test('on whichever of several servers it is, in hex too', async () => {
    for (let nth = 0; nth < 20; nth += 1) {
      const secret = makeSecret();
      const owner = await cluster.ownerOf(`key ${nth}`);
      await owner.cli('SET', `key ${nth}`, Buffer.from(secret).toString('hex'));
      const places = (await scanRedis([redis, ...cluster.nodes])).find(secret);
      expect(places).toContain(`${owner.url}: the value of string "key ${nth}" (hex)`);
    }
  });
});

describe('an answer that the API document does not have is a problem', async () => {
  const relay = await startRelay();
  const find = createFindProblems(await readApiDocument(relay));
  await relay.stop();
  const HEADERS = {
    'cache-control': 'no-store, private',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  };
  const DENIED: Seen = {
    method: 'GET',
    path: '/auth/result',
    status: 200,
    headers: { ...HEADERS, 'content-type': 'application/json' },
    body: '{"error":"access_denied"}',
  };
  const LIMITED: Seen = {
    method: 'POST',
    path: '/auth/start',
    status: 429,
    headers: { ...HEADERS, 'content-type': 'text/plain; charset=utf-8', 'retry-after': '1' },
    body: 'Rate limited\n',
  };

  test.each([DENIED, LIMITED])('$path $status as it should be is none', (seen) => {
    expect(find(seen)).toEqual([]);
  });

  test.each<[string, Seen]>([
    ['a status', { ...DENIED, status: 202 }],
    ['a path', { ...DENIED, path: '/auth/results/now' }],
    ['a method', { ...LIMITED, method: 'PUT' }],
    ['a value', { ...DENIED, body: '{"error":"tired"}' }],
    ['a member', { ...DENIED, body: '{"error":"access_denied","why":""}' }],
    ['a type', { ...DENIED, headers: { ...HEADERS, 'content-type': 'text/html' } }],
    ['a text', { ...LIMITED, body: 'Rate limited' }],
    ['a body', { ...DENIED, status: 204 }],
    ['a header', { ...LIMITED, headers: { ...LIMITED.headers, 'retry-after': 'soon' } }],
    ['no header', { ...DENIED, headers: { 'content-type': 'application/json' } }],
  ])('%s', (_, seen) => {
    expect(find(seen)).not.toEqual([]);
  });
});
