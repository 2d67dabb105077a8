/**
 * A relay recovers by itself, and says what it waits for: a Redis that refuses, whose name or
 * address moves, whose password or rights change, or that starts later (docs/scaling.md).
 */
import { describe, expect, test } from 'bun:test';
import { pollUntilDone, start, startRequest } from '../kit/device.ts';
import { findFreePort } from '../kit/process.ts';
import { tokensFor } from '../kit/provider.ts';
import { startRedisSentinel } from '../kit/redis/groups.ts';
import { type RedisServer, startRedis } from '../kit/redis/server.ts';
import { launchRelay, type RelayProcess, startRelay } from '../kit/relay.ts';
import { startRelayPair } from '../kit/relay-pair.ts';
import { plantSecret } from '../kit/secrets.ts';
import { startCuttingProxy } from '../kit/tcp-proxy.ts';
import { bringCodeWhenPossible, makeCode } from '../kit/user.ts';
import { pollUntil } from '../kit/wait.ts';

/** The status of a start, which no other request follows. */
const startStatus = async (relay: RelayProcess) =>
  (await relay.ask('/auth/start', startRequest())).status;

test.concurrent.each<[string, (old: RedisServer, next: RedisServer) => Promise<unknown>]>([
  ['answers, as a replica', (old, next) => old.cli('REPLICAOF', '127.0.0.1', next.port)],
  ['is silent, and its connections stay open', (old) => old.freeze()],
  ['keeps the one that listens', (old) => old.cli('CLIENT', 'KILL', 'TYPE', 'normal')],
])(
  'an address that moves to another primary is followed although the old one %s',
  async (_, leave) => {
    const [old, next] = await Promise.all([startRedis(), startRedis()]);
    await using _old = old;
    await using _next = next;
    await next.cli('REPLICAOF', '127.0.0.1', old.port);
    await pollUntil('it replicates', async () => (await next.cli('ROLE')).includes('connected'));
    await using address = await startCuttingProxy(old.port);
    await using pair = await startRelayPair(address.url);
    const [relay, other] = pair.relays;
    const { session, state } = await start(relay);
    await pollUntil(
      'the session is copied',
      async () => (await next.keys('*:sign-in:*')).length > 0,
    );
    const tokens = pollUntilDone([relay], session);
    await next.cli('REPLICAOF', 'NO', 'ONE');
    address.moveTo(next.port);
    await leave(old, next);
    // The connections to the old one are still open.
    for (const each of pair.relays) {
      await pollUntil('a start works', async () => (await startStatus(each)) === 200);
      await pollUntil('it is ready', async () => (await each.ask('/ready')).ok);
    }
    await pollUntil('both listen there', async () => {
      const listening = await next.cli('CLIENT', 'LIST', 'TYPE', 'pubsub');
      return listening.split('\n').filter(Boolean).length === pair.relays.length;
    });
    const code = makeCode();
    await bringCodeWhenPossible(other, state, code);
    expect(await tokens).toEqual(tokensFor(code));
  },
);

/** That docs/scaling.md "Set-up" names. */
const RIGHTS = '+sentinel|master +sentinel|sentinels +sentinel|replicas +subscribe &*'.split(' ');
const SENTINEL = { user: 'watcher', password: plantSecret('password-of-the-sentinels') };

test('Sentinels are asked with their own password, the data with that of REDIS_URL', async () => {
  await using group = await startRedisSentinel({ password: plantSecret('password-of-the-data') });
  for (const sentinel of group.sentinels) {
    const { user, password } = SENTINEL;
    await sentinel.cli('ACL', 'SETUSER', user, 'on', `>${password}`, ...RIGHTS);
    await sentinel.cli('ACL', 'SETUSER', 'default', 'off');
  }
  async function findRefusal(own: object): Promise<string> {
    const relay = await launchRelay({ REDIS_URL: group.url, ...own });
    expect(await relay.exited).toBe(1);
    return relay.output();
  }
  const required = 'the Sentinels require a password: set REDIS_SENTINEL_PASSWORD';
  expect(await findRefusal({})).toContain(required);
  const refused = 'the Sentinels refuse REDIS_SENTINEL_USERNAME or';
  expect(await findRefusal({ REDIS_SENTINEL_PASSWORD: 'wrong' })).toContain(refused);
  const relay = await startRelay({
    REDIS_URL: group.url,
    REDIS_SENTINEL_USERNAME: SENTINEL.user,
    REDIS_SENTINEL_PASSWORD: SENTINEL.password,
  });
  expect(await startStatus(relay)).toBe(200);
  await relay.stop();
});

describe('a relay that starts before Redis', () => {
  test.concurrent('waits for a minute, and says so', async () => {
    await using redis = await startRedis();
    await redis.kill();
    const relay = await launchRelay({ REDIS_URL: redis.url });
    const { secondsLeft } = await relay.waitForEvent('store_waiting');
    // A busy machine may take seconds to find out that nobody listens.
    expect(secondsLeft).toBeWithin(30, 61);
    await redis.restart();
    await relay.waitForEvent('listening');
    expect(await startStatus(relay)).toBe(200);
    await relay.stop();
  });

  test.concurrent('ends at once at SIGTERM', async () => {
    const relay = await launchRelay({ REDIS_URL: `redis://127.0.0.1:${await findFreePort()}` });
    await relay.waitForEvent('store_waiting');
    expect(await relay.stop()).toBe(0);
  });
});
