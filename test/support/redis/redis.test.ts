import { expect, test } from 'bun:test';
import { readFileSync, rmSync } from 'node:fs';
import { createClient } from '@redis/client';
import { failureOf } from '../failure-of.ts';
import { pollUntil } from './poll-until.ts';
import type { RedisOptions } from './redis-options.ts';
import type { RedisServer } from './redis-server.ts';
import { startRedis } from './start-redis.ts';

async function withRedis(options: RedisOptions, use: (redis: RedisServer) => Promise<void>) {
  const redis = await startRedis(options);
  try {
    await use(redis);
  } finally {
    await redis.stop();
  }
}

/** Who an application is that uses the address as it stands. */
async function whoAmI(redis: RedisServer, ca?: Buffer): Promise<string> {
  const client = createClient({
    url: redis.url,
    socket: { reconnectStrategy: false, ...(ca && { tls: true, ca }) },
  });
  client.on('error', () => {});
  await client.connect();
  const name = await client.aclWhoAmI();
  client.destroy();
  return name;
}

test('a Redis answers, is killed and comes back empty on the same port', () =>
  withRedis({}, async (redis) => {
    const first = redis.pid;
    await redis.cli('SET', 'kept', 'no');
    await redis.kill();
    expect(redis.isAnswering()).toBe(false);
    expect(String(await failureOf(redis.cli('PING')))).toContain('Connection refused');
    await redis.restart();
    expect(redis.pid).not.toBe(first);
    expect(await redis.cli('DBSIZE')).toBe('0');
  }));

test('a Redis that is told to persist comes back with what it had', () =>
  withRedis({ args: ['--appendonly', 'yes'] }, async (redis) => {
    await redis.cli('SET', 'kept', 'yes');
    await redis.kill('SIGTERM');
    await redis.restart();
    expect(await redis.cli('GET', 'kept')).toBe('yes');
  }));

test('a frozen Redis answers when it is thawed', () =>
  withRedis({}, async (redis) => {
    await redis.freeze();
    let answered = false;
    const answer = redis.cli('PING').finally(() => {
      answered = true;
    });
    // Another server has time to start, be asked and stop.
    await withRedis({}, async (other) => void (await other.cli('PING')));
    expect(answered).toBe(false);
    redis.thaw();
    expect(await answer).toBe('PONG');
  }));

test('a Redis over TLS is reached by those who trust its CA', () =>
  withRedis({ tls: true }, async (redis) => {
    expect(redis.url).toStartWith('rediss://');
    expect(await whoAmI(redis, readFileSync(redis.caFile ?? ''))).toBe('default');
    expect(await failureOf(whoAmI(redis))).toBeInstanceOf(Error);
  }));

test('the address carries the password', () =>
  withRedis({ password: 'p%@:/ö' }, async (redis) => {
    expect(await whoAmI(redis)).toBe('default');
    expect(await redis.cli('PING')).toBe('PONG');
  }));

test('the address carries the ACL user, who is held to the rules; the test itself is not', () =>
  withRedis(
    { user: { name: 'relay', password: 'secret', rules: '~relay:* +get +acl|whoami' } },
    async (redis) => {
      expect(await whoAmI(redis)).toBe('relay');
      expect(await redis.cli('SET', 'other', '1')).toBe('OK');
      const asRelay = ['--user', 'relay', '--pass', 'secret', '--no-auth-warning'];
      const failure = await failureOf(redis.cli(...asRelay, 'GET', 'other'));
      expect(String(failure)).toContain('NOPERM');
    },
  ));

test('a Redis listens on a unix socket alone', () =>
  withRedis({ unixSocket: true }, async (redis) => {
    expect(await whoAmI(redis)).toBe('default');
    expect(redis.port).toBe(0);
  }));

test('a Redis runs out of memory, or evicts, as it is told', async () => {
  const fill = 'for i = 1, 4000 do redis.call("SET", i, string.rep("x", 1000)) end';
  await withRedis({ maxMemory: '2mb', evictionPolicy: 'noeviction' }, async (redis) => {
    for (let count = 0; count < 2; count += 1) await failureOf(redis.cli('EVAL', fill, 0));
    expect(String(await failureOf(redis.cli('SET', 'a', '1')))).toContain('OOM');
  });
  await withRedis({ maxMemory: '2mb', evictionPolicy: 'allkeys-lru' }, async (redis) => {
    for (let count = 0; count < 2; count += 1) await redis.cli('EVAL', fill, 0);
    expect(await redis.cli('SET', 'a', '1')).toBe('OK');
  });
});

test('a Redis ends with the process that started it, even one that is killed', async () => {
  const module = JSON.stringify(new URL('./start-redis.ts', import.meta.url).pathname);
  const code = `import { startRedis } from ${module};
    const { pid, folder } = await startRedis();
    console.log(JSON.stringify({ pid, folder }));
    setInterval(() => {}, 1000);`;
  const child = Bun.spawn([process.execPath, '-e', code]);
  const { value } = await child.stdout.getReader().read();
  const { pid, folder } = JSON.parse(new TextDecoder().decode(value));
  process.kill(pid, 0);
  child.kill('SIGKILL');
  await pollUntil('the server is gone', async () => {
    try {
      process.kill(pid, 0);
      return undefined;
    } catch {
      return true;
    }
  });
  rmSync(folder, { recursive: true });
});
