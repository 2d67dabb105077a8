/** The one object of a Worker: limits hold for every client, and how many polls it holds. docs/cloudflare.md. */
import { expect, test } from 'bun:test';
import { start, startRequest } from '../kit/device.ts';
import { MAX_PARKED_POLLS_OF_OBJECT, MAX_POLLS_PER_SESSION } from '../kit/limits.ts';
import { openRaw, statusOf } from '../kit/sockets.ts';
import { eachLimit } from '../kit/wait.ts';
import { startWorkers } from '../kit/workers.ts';

test('the limits go by the address that Cloudflare names, not one that a client sends', async () => {
  await using relay = await startWorkers();
  const attempts = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      relay.ask('/auth/start', {
        ...startRequest(),
        headers: { 'X-Forwarded-For': `192.0.2.${index}`, 'CF-Connecting-IP': `192.0.2.${index}` },
      }),
    ),
  );
  const started = attempts.filter(({ status }) => status === 200);
  expect(started.length).toBeLessThanOrEqual(4);
  expect(attempts.filter(({ status }) => status === 429)).toHaveLength(8 - started.length);
  expect(relay.events('forwarded_header_ignored')).toEqual([]);
});

test('a GET may have a body, which no route reads: a poll gets its 204', async () => {
  await using relay = await startWorkers();
  const { session } = await start(relay);
  const connection = openRaw(relay.baseUrl);
  const target = `/auth/result?session=${session}&wait=0`;
  await connection.send(`GET ${target} HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}`);
  expect(statusOf(await connection.until('\r\n\r\n'))).toBe(204);
});

test('a body of more than 1 MiB gets a 413, before it arrives', async () => {
  await using relay = await startWorkers();
  const connection = openRaw(relay.baseUrl);
  await connection.send('POST /refresh HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\n\r\n{}');
  expect(statusOf(await connection.until('\r\n\r\n'))).toBe(413);
});

test('one poll more than an object has memory for ends the one that was held longest', async () => {
  await using relay = await startWorkers({ START_BURST: '1000' });
  async function park(session: string) {
    const connection = openRaw(relay.baseUrl);
    await connection.send(`GET /auth/result?session=${session} HTTP/1.1\r\nHost: a\r\n\r\n`);
    return connection;
  }
  const first = await park((await start(relay)).session);
  await relay.waitForEvents('poll_waiting', 1);
  const others = Array.from({ length: MAX_PARKED_POLLS_OF_OBJECT / MAX_POLLS_PER_SESSION });
  await eachLimit(8, others, async () => {
    const { session } = await start(relay);
    for (let count = 0; count < MAX_POLLS_PER_SESSION; count += 1) await park(session);
  });
  expect(statusOf(await first.until('\r\n\r\n'))).toBe(204);
});
