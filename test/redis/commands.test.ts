/** What Redis is asked: how many commands, and of which kind (docs/scaling.md). */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { SCRIPTS } from '../../src/stores/redis/scripts.ts';
import { startRedis } from '../kit/redis/server.ts';
import { signInByLink, startRelayPair } from '../kit/relay-pair.ts';
import { startCuttingProxy } from '../kit/tcp-proxy.ts';

setDefaultTimeout(30_000);

const redis = await startRedis();
const proxy = await startCuttingProxy(redis.port);
afterAll(async () => {
  await proxy.stop();
  await redis.stop();
});

/** Without the heartbeat, which is a PUBLISH, and without the EVAL that teaches Redis a script. */
async function countCommands(ask: () => unknown): Promise<number> {
  proxy.forgetBytes();
  await ask();
  const commands = proxy.bytes().toString('latin1');
  return commands.match(/\*\d+\r\n\$\d+\r\n(EVALSHA|GET)\r\n/gi)?.length ?? 0;
}

test('a sign-in over HTTP takes six: limit, start, link, lease, result, delivery', async () => {
  await using pair = await startRelayPair(proxy.url);
  const [relay] = pair.relays;
  // Redis learns the scripts.
  await signInByLink(relay);
  expect(await countCommands(() => signInByLink(relay))).toBe(6);
});

/** As Redis documents them. */
const AT_MOST_LOG_N = [
  'TIME',
  'GET',
  'SET',
  'DEL',
  'PEXPIRE',
  'PUBLISH',
  'EXISTS',
  'ZADD',
  'ZCOUNT',
  'ZREM',
];

test.each(Object.entries(SCRIPTS))(
  '%s scans nothing: each of its commands is O(log n) at worst',
  (_, { text }) => {
    const calls = [...text.matchAll(/redis\.call\('([A-Z]+)'(?=([^\n]*))/g)];
    expect(calls.length).toBeGreaterThan(0);
    for (const [, name = '', rest] of calls) {
      if (name === 'ZRANGEBYSCORE') expect(rest).toMatch(/'LIMIT', 0, \d+\)/);
      else expect(AT_MOST_LOG_N).toContain(name);
    }
    expect(text.match(/redis\.(?!call\('[A-Z]|error_reply\()/)).toBeNull();
  },
);
