/** A client that got no reply in time is replaced by a new one (src/stores/redis/connect.ts): what that leaves open. */
import { expect, setDefaultTimeout, test } from 'bun:test';
import { connect, createServer, type Socket } from 'node:net';
import { connectRedis } from '../../src/stores/redis/connect.ts';
import { findFreePort } from '../kit/process.ts';
import { startRedis } from '../kit/redis/server.ts';
import { pollUntil } from '../kit/wait.ts';

setDefaultTimeout(30_000);

/** Before a Redis; may answer SUBSCRIBE by itself, or not at all. */
async function startBefore(redisPort: number) {
  const open = new Set<Socket>();
  let total = 0;
  let subscribing: 'passed on' | 'refused' | 'unanswered' = 'passed on';
  const server = createServer((socket) => {
    const redis = connect(redisPort, '127.0.0.1');
    open.add(socket);
    total += 1;
    const end = () => {
      open.delete(socket);
      socket.destroy();
      redis.destroy();
    };
    for (const each of [socket, redis]) each.on('close', end).on('error', end);
    redis.on('data', (chunk) => socket.write(chunk));
    socket.on('data', (chunk) => {
      const isSubscription = /subscribe/i.test(String(chunk));
      if (!isSubscription || subscribing === 'passed on') redis.write(chunk);
      else if (subscribing === 'refused') socket.write('-NOPERM no\r\n');
    });
  });
  const port = await findFreePort();
  await new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve));
  return {
    port,
    open,
    total: () => total,
    answer(how: typeof subscribing) {
      subscribing = how;
    },
    [Symbol.dispose]: () => void server.close(),
  };
}

test.each(['refused', 'unanswered'] as const)(
  'its subscription is %s: it is closed and tried again, and nothing stays open',
  async (how) => {
    await using redis = await startRedis();
    using proxy = await startBefore(redis.port);
    const addresses = [{ host: '127.0.0.1', port: proxy.port }];
    const { signal } = new AbortController();
    const target = { type: 'single', tls: false, addresses } as const;
    const client = await connectRedis(target, 'key', { onCut() {}, signal });
    const received: string[] = [];
    await client.subscribe('channel', (message) => received.push(message));
    const first = [...proxy.open];
    proxy.answer(how);
    client.reconnect();
    await pollUntil('the replacement connects', () => proxy.total() === 2 * first.length);
    await pollUntil('it is given up', () => proxy.open.size === first.length);
    proxy.answer('passed on');
    client.reconnect();
    await pollUntil('it is used', () => first.every((socket) => !proxy.open.has(socket)));
    await client.publish('channel', 'hello');
    await pollUntil('the message is there', () => received.length > 0);
    expect(received).toEqual(['hello']);
    client.close();
    await pollUntil('all are closed', () => proxy.open.size === 0);
  },
);
