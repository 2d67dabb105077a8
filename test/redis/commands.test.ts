/** What Redis is asked: how many commands, of which kind, and none for a string that cannot be a capability (docs/scaling.md). */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { SCRIPTS } from '../../src/stores/redis/scripts.ts';
import { DEVICE_CODE_GRANT, UNKNOWN_SECRET } from '../kit/device.ts';
import { startRedis } from '../kit/redis/server.ts';
import { type RelayProcess, startRelay } from '../kit/relay.ts';
import { signInByLink, startRelayPair } from '../kit/relay-pair.ts';
import { startCuttingProxy } from '../kit/tcp-proxy.ts';
import { decision, FROM_OWN_PAGE } from '../kit/user.ts';

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

/** As Redis documents them. All of a hash is read: it has a dozen fields, and one for each instance that waits. */
const AT_MOST_LOG_N = [
  'TIME',
  'GET',
  'SET',
  'DEL',
  'PEXPIRE',
  'PUBLISH',
  'HSET',
  'HGET',
  'HMGET',
  'HDEL',
  'HGETALL',
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

describe('a string that cannot be a capability is refused without asking the store', async () => {
  const [relay, asking] = await Promise.all([
    startRelay({ REDIS_URL: proxy.url }),
    startRelay({ REDIS_URL: proxy.url, CONFIRM: 'always' }),
  ]);
  afterAll(() => Promise.all([relay.stop(), asking.stop()]));

  const MALFORMED = [
    '',
    'unknown',
    'A'.repeat(23),
    'A'.repeat(25),
    'A'.repeat(8_000),
    `${'A'.repeat(23)}+`,
    `${'A'.repeat(24)}\n`,
    `${'A'.repeat(23)}é`,
  ];
  const form = (fields: Record<string, string>): RequestInit => ({
    method: 'POST',
    headers: FROM_OWN_PAGE,
    body: new URLSearchParams(fields),
  });

  type Endpoint = [string, RelayProcess, (value: string) => [string, RequestInit?], number];
  const ENDPOINTS: Endpoint[] = [
    ['a poll', relay, (secret) => [`/auth/result?session=${secret}`], 410],
    ['a poll that is not held', relay, (secret) => [`/auth/result?session=${secret}&wait=0`], 410],
    ['an acknowledgement', relay, (secret) => [`/auth/result?session=${secret}&ack=1`], 410],
    ['a link', relay, (state) => [`/auth/mal?state=${state}`], 404],
    ['a callback', relay, (state) => [`/auth/mal/callback?state=${state}&code=c`], 404],
    ['one with an error', relay, (state) => [`/auth/mal/callback?state=${state}&error=e`], 404],
    ['one with neither', relay, (state) => [`/auth/mal/callback?state=${state}`], 404],
    ['a link that asks', asking, (state) => [`/auth/mal?state=${state}`], 404],
    ['Continue', asking, (state) => [`/auth/mal?state=${state}`, decision('continue')], 404],
    ['Decline', asking, (state) => [`/auth/mal?state=${state}`, decision('decline')], 404],
    ['a QR code', relay, (state) => [`/qr/${state}.svg`], 404],
    [
      'a poll of the device grant',
      relay,
      (code) => [
        '/oauth2/mal/token',
        form({ grant_type: DEVICE_CODE_GRANT, device_code: decodeURIComponent(code) }),
      ],
      400,
    ],
  ];

  test.each(ENDPOINTS)('%s', async (_, { ask }, requestOf, status) => {
    const asked = await countCommands(async () => {
      for (const value of MALFORMED) {
        expect((await ask(...requestOf(encodeURIComponent(value)))).status).toBe(status);
      }
    });
    expect(asked).toBe(0);
    // One that could be a capability is looked up.
    const lookedUp = await countCommands(async () => {
      expect((await ask(...requestOf(UNKNOWN_SECRET))).status).toBe(status);
    });
    expect(lookedUp).toBeGreaterThan(0);
  });
});
