/**
 * A relay recovers by itself, and says what it waits for: a Redis that refuses, whose name or
 * address moves, whose password or rights change, or that starts later (docs/scaling.md).
 */
import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { pollUntilDone, start, startRequest } from '../kit/device.ts';
import { findFreePort } from '../kit/process.ts';
import { tokensFor } from '../kit/provider.ts';
import { rulesFor } from '../kit/redis/acl.ts';
import { startRedisSentinel } from '../kit/redis/groups.ts';
import { type RedisServer, startRedis } from '../kit/redis/server.ts';
import { launchRelay, type RelayProcess, runRelay, startRelay } from '../kit/relay.ts';
import { startRelayPair } from '../kit/relay-pair.ts';
import { plantSecret } from '../kit/secrets.ts';
import { openTestRedis } from '../kit/stores.ts';
import { startCuttingProxy } from '../kit/tcp-proxy.ts';
import { bringCodeWhenPossible, makeCode } from '../kit/user.ts';
import { pollUntil } from '../kit/wait.ts';

setDefaultTimeout(60_000);

const USER = { name: 'relay', password: plantSecret('password-of-the-relay') };

async function readyOf(relay: RelayProcess): Promise<[number, string]> {
  const response = await relay.ask('/ready');
  return [response.status, await response.text()];
}

const untilReady = (relay: RelayProcess) =>
  pollUntil('the relay is ready', async () => (await relay.ask('/ready')).ok);

const untilNotReady = (relay: RelayProcess, reason: string) =>
  pollUntil(`the relay says ${reason}`, async () => {
    const [status, text] = await readyOf(relay);
    return status === 503 && text.includes(reason) && text;
  });

/** Of a start, which no other request follows. */
const startStatus = async (relay: RelayProcess) =>
  (await relay.ask('/auth/start', startRequest())).status;

describe('a relay that starts on a Redis that refuses says why, and is ready afterwards', () => {
  const setMaxMemory = (redis: RedisServer, bytes: number) =>
    redis.cli('CONFIG', 'SET', 'maxmemory', bytes);

  test.concurrent.each<
    [
      string,
      string,
      string,
      (redis: RedisServer) => Promise<unknown>,
      (redis: RedisServer) => Promise<unknown>,
    ]
  >([
    [
      ...(['a replica', 'READONLY', 'REDIS_URL must name the primary'] as const),
      (redis) => redis.cli('REPLICAOF', '127.0.0.1', '1'),
      (redis) => redis.cli('REPLICAOF', 'NO', 'ONE'),
    ],
    [
      ...(['a full one', 'OOM', 'maxmemory'] as const),
      (redis) => setMaxMemory(redis, 1),
      (redis) => setMaxMemory(redis, 0),
    ],
    [
      ...(['one that lacks a right', 'NOPERM', '+zcount'] as const),
      (redis) => redis.cli('ACL', 'SETUSER', USER.name, '-zcount'),
      (redis) => redis.cli('ACL', 'SETUSER', USER.name, '+zcount'),
    ],
  ])('%s', async (_, reason, remedy, begin, end) => {
    await using redis = await startRedis({ user: USER });
    await begin(redis);
    const relay = await startRelay({ REDIS_URL: redis.url });
    const [status, text] = await readyOf(relay);
    expect(status).toBe(503);
    expect(text).toStartWith(`store: Redis refuses commands (${reason}): `);
    expect(text).toContain(remedy);
    const refusal = { level: 'warning', reason, remedy: expect.stringContaining(remedy) };
    expect(await relay.waitForEvents('store_refuses', 1)).toMatchObject([refusal]);
    await end(redis);
    await untilReady(relay);
    expect(await startStatus(relay)).toBe(200);
    await relay.waitForEvent('store_accepts');
    expect(await readyOf(relay)).toEqual([200, 'ready']);
    await relay.stop();
  });
});

describe('an address that moves from a primary to the one that replaces it', () => {
  async function moveUnderSignIn(leave: (old: RedisServer, next: RedisServer) => Promise<unknown>) {
    const [old, next] = await Promise.all([startRedis(), startRedis()]);
    await using _ = old;
    await using __ = next;
    await next.cli('REPLICAOF', '127.0.0.1', old.port);
    await pollUntil('it replicates', async () => (await next.cli('ROLE')).includes('connected'));
    await using address = await startCuttingProxy(old.port);
    await using pair = await startRelayPair(address.url, { env: { START_BURST: '1000000' } });
    const [relay, other] = pair.relays;
    const { session, state } = await start(relay);
    await pollUntil(
      'the session is copied',
      async () => (await next.keys('*:sign-in:*')).length > 0,
    );
    const tokens = pollUntilDone([relay], session);
    await next.cli('REPLICAOF', 'NO', 'ONE');
    await leave(old, next);
    address.moveTo(next.port);
    // The connections to the old one are still open.
    for (const each of pair.relays) {
      await pollUntil('a start works', async () => (await startStatus(each)) === 200);
      await untilReady(each);
    }
    const code = makeCode();
    await bringCodeWhenPossible([other], state, code);
    expect(await tokens).toEqual(tokensFor(code));
    return { old, relays: pair.relays };
  }

  test.concurrent('is followed although the old one answers, as a replica', async () => {
    await moveUnderSignIn(async (old, next) => {
      await old.cli('REPLICAOF', '127.0.0.1', next.port);
    });
  });

  test.concurrent('is followed although the old one is silent, and its connections stay open', async () => {
    await moveUnderSignIn((old) => old.freeze());
  });
});

describe('what changes meanwhile is named in the log, at /ready and on the admin page', () => {
  const RULES = rulesFor('single', ['sign-in-relay:']);

  test.concurrent.each<[string, string, string, string[], string[]]>([
    [
      'another password',
      'WRONGPASS',
      'correct REDIS_URL',
      ['resetpass', '>another-password'],
      ['resetpass', `>${USER.password}`],
    ],
    ['a user that is disabled', 'WRONGPASS', 'correct REDIS_URL', ['off'], ['on']],
    ['no right to run scripts', 'NOPERM', '+evalsha', ['-evalsha'], ['+evalsha']],
    [
      'keys of another prefix',
      'NOPERM',
      'REDIS_PREFIX',
      ['resetkeys', '~other:*'],
      ['resetkeys', '~sign-in-relay:*'],
    ],
    [
      'channels of another prefix',
      'NOPERM',
      'REDIS_PREFIX',
      ['resetchannels', '&other:*'],
      ['resetchannels', '&sign-in-relay:wake:*'],
    ],
  ])('%s', async (_, reason, remedy, begin, end) => {
    await using redis = await startRedis({ user: { ...USER, rules: RULES } });
    const adminPort = await findFreePort();
    const env = { START_BURST: '1000000', ADMIN_PORT: `${adminPort}` };
    const relay = await startRelay({ REDIS_URL: redis.url, ...env });
    await untilReady(relay);
    await redis.cli('ACL', 'SETUSER', USER.name, ...begin);
    // A password matters to new connections only.
    if (reason === 'WRONGPASS') await redis.cli('CLIENT', 'KILL', 'USER', USER.name);
    await startStatus(relay);
    const text = await untilNotReady(relay, `Redis refuses commands (${reason})`);
    expect(text).toContain(remedy);
    const page = await (await fetch(`http://127.0.0.1:${adminPort}/`)).text();
    expect(page).toContain(`Redis refuses commands (${reason})`);
    expect(await relay.waitForEvents('store_refuses', 1)).toMatchObject([
      { reason, remedy: expect.stringContaining(remedy) },
    ]);
    await redis.cli('ACL', 'SETUSER', USER.name, ...end);
    await untilReady(relay);
    await relay.waitForEvent('store_accepts');
    expect(await startStatus(relay)).toBe(200);
    expect(relay.output()).not.toContain(USER.password);
    await relay.stop();
  });

  test.concurrent('one right of many: what does not need it continues, so the relay stays ready', async () => {
    await using redis = await startRedis({ user: { ...USER, rules: RULES } });
    const relay = await startRelay({ REDIS_URL: redis.url });
    await redis.cli('ACL', 'SETUSER', USER.name, '-zcount');
    expect(await startStatus(relay)).toBe(503);
    const [status, text] = await readyOf(relay);
    expect(status).toBe(200);
    expect(text).toStartWith(
      'ready, but some requests fail: store: Redis refuses commands (NOPERM)',
    );
    expect(text).toContain('+zcount');
    await redis.cli('ACL', 'SETUSER', USER.name, '+zcount');
    await relay.waitForEvent('store_accepts');
    expect(await readyOf(relay)).toEqual([200, 'ready']);
    await relay.stop();
  });

  test.concurrent('a start with a REDIS_PREFIX that the ACL does not allow ends with that reason', async () => {
    await using redis = await startRedis({ user: { ...USER, rules: RULES } });
    const opening = openTestRedis(redis.url, { prefix: 'other:' });
    const problem = await opening.catch((error: Error) => error.message);
    expect(problem).toMatch(/^the user of REDIS_URL may not use .* REDIS_PREFIX.*\(NOPERM\)$/);
  });
});

describe('Sentinels with a password of their own', () => {
  /** That docs/scaling.md "Set-up" names. */
  const RIGHTS = [
    '+sentinel|master',
    '+sentinel|sentinels',
    '+sentinel|replicas',
    '+subscribe',
    '&*',
  ];
  const SENTINEL = { user: 'watcher', password: plantSecret('password-of-the-sentinels') };

  test('are asked with it, and the data with the one of REDIS_URL', async () => {
    await using group = await startRedisSentinel({ password: plantSecret('password-of-the-data') });
    for (const sentinel of group.sentinels) {
      const { user, password } = SENTINEL;
      await sentinel.cli('ACL', 'SETUSER', user, 'on', `>${password}`, ...RIGHTS);
      await sentinel.cli('ACL', 'SETUSER', 'default', 'off');
    }
    const env = {
      OAUTH_BASE_URL: 'http://127.0.0.1:3000',
      HOST: '127.0.0.1',
      PORT: '0',
      MAL_CLIENT_ID: 'mal-client',
      REDIS_URL: group.url,
    };
    const without = await runRelay(env);
    expect(without.output).toContain(
      'the Sentinels require a password: set REDIS_SENTINEL_PASSWORD',
    );
    const wrong = await runRelay({ ...env, REDIS_SENTINEL_PASSWORD: 'wrong' });
    expect(wrong.output).toContain('the Sentinels refuse REDIS_SENTINEL_USERNAME or');
    const relay = await startRelay({
      REDIS_URL: group.url,
      REDIS_SENTINEL_USERNAME: SENTINEL.user,
      REDIS_SENTINEL_PASSWORD: SENTINEL.password,
    });
    expect(await startStatus(relay)).toBe(200);
    await relay.stop();
  });
});

describe('a relay that starts before Redis', () => {
  test.concurrent('waits for a minute, and says so', async () => {
    await using redis = await startRedis();
    await redis.kill();
    const relay = await launchRelay({ REDIS_URL: redis.url });
    const { secondsLeft } = await relay.waitForEvent('store_awaited');
    // A busy machine may take seconds to find out that nobody listens.
    expect(secondsLeft).toBeWithin(30, 61);
    await redis.restart();
    await relay.waitForEvent('listening');
    expect(await startStatus(relay)).toBe(200);
    await relay.stop();
  });

  test.concurrent('ends at once when it is told to', async () => {
    const relay = await launchRelay({ REDIS_URL: `redis://127.0.0.1:${await findFreePort()}` });
    await relay.waitForEvent('store_awaited');
    expect(await relay.stop()).toBe(0);
  });
});
