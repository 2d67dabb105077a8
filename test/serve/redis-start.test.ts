/** A start with a Redis that cannot be used: the reason that it gives, and that it never shows a password. docs/scaling.md "At startup". */
import { describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { RedisEvent } from '../../src/stores/redis/open.ts';
import { createFakeClock } from '../kit/clock.ts';
import { STORE_SILENCE_MS } from '../kit/limits.ts';
import { findFreePort } from '../kit/process.ts';
import { serveBytes } from '../kit/provider.ts';
import { startRedisSentinel } from '../kit/redis/groups.ts';
import { startRedis } from '../kit/redis/server.ts';
import { createEventLog, runRelay } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';
import { openTestRedis } from '../kit/stores.ts';

const PASSWORD = plantSecret('the-right-password');
const WRONG = plantSecret('another-password');

const [plain, locked, secured, crowded, lacking, node, group] = await Promise.all([
  startRedis(),
  startRedis({ password: PASSWORD }),
  startRedis({ tls: true }),
  startRedis(),
  startRedis({ args: ['--rename-command', 'INFO', ''] }),
  startRedis({ args: ['--cluster-enabled', 'yes'] }),
  startRedisSentinel({ password: PASSWORD }),
]);
const NOT_REDIS = 'HTTP/1.1 400 Bad Request\r\n\r\n';
const silent = await serveBytes(() => {});
const closing = await serveBytes(
  () => {},
  (socket) => void socket.destroy(),
);
const web = await serveBytes((socket) => void socket.end(NOT_REDIS));
const lingering = await serveBytes((socket) => void socket.write(NOT_REDIS));
await crowded.cli('CONFIG', 'SET', 'maxclients', 1);
const itsOnlyClient = connect(crowded.port, '127.0.0.1');
itsOnlyClient.write('PING\r\n');
await once(itsOnlyClient, 'data');
const nobody = await findFreePort();
const at = (port: number) => `127.0.0.1:${port}`;

/** How long openTestRedis waits. A relay waits for a minute. */
const WAIT_SECONDS = 5;

/** The reason why a start gives up, and what it logs meanwhile. */
async function open(url: string) {
  const events: RedisEvent[] = [];
  const opening = openTestRedis(url, { onEvent: (event) => events.push(event) });
  const problem = await opening.then(
    () => 'it is open',
    (error: Error) => error.message,
  );
  return { problem, events };
}

test.concurrent.each([
  ['the user or the password is wrong', `redis://:${WRONG}@${at(locked.port)}`],
  ['the user or the password is wrong', `redis://somebody:${WRONG}@${at(locked.port)}`],
  ['the server requires a password', `redis://${at(locked.port)}`],
  ['nothing listens there (ECONNREFUSED)', `redis://:${WRONG}@${at(nobody)}`],
  ['the host name is unknown (', `redis://:${WRONG}@nosuch.invalid`],
  ['the server does not answer', `redis://:${WRONG}@${at(silent.port)}`],
  ['the server closes the connection', `redis://:${WRONG}@${at(closing.port)}`],
  ['the server there is not Redis', `redis://:${WRONG}@${at(web.port)}`],
  ['the server there is not Redis', `redis://:${WRONG}@${at(lingering.port)}`],
  ['the server closes the connection; one that speaks TLS requires', `redis://${at(secured.port)}`],
  ['the certificate is not trusted (', `rediss://${at(secured.port)}`],
  ['the server does not speak TLS', `rediss://:${WRONG}@${at(web.port)}`],
  ['the server does not answer; does it speak TLS?', `rediss://${at(plain.port)}`],
  ['the server has as many connections as it may', `redis://${at(crowded.port)}`],
  ['the server lacks a command that docs/scaling.md lists', `redis://${at(lacking.port)}`],
  ['the server has no database of that number', `redis://${at(plain.port)}/99`],
  ['nothing listens there (ECONNREFUSED)', `redis://${at(nobody)},${at(nobody)}`],
  ['the user or the password', `redis://:${WRONG}@${at(locked.port)},${at(locked.port)}`],
  ['the server is not a Cluster', `redis://${at(plain.port)},${at(plain.port)}`],
  ['nothing listens there (ECONNREFUSED)', `redis+sentinel://:${WRONG}@${at(nobody)}/primary`],
  ['the server is not a Sentinel', `redis+sentinel://${at(plain.port)}/primary`],
  ['the server is a Sentinel', `redis://${at(group.sentinels[0]?.port ?? 0)}`],
  ['the Sentinels know no primary of that name', group.url.replace(/[^/]*$/, 'nosuch')],
  [
    'the primary that the Sentinels name: the user or the password is wrong',
    group.url.replace(PASSWORD, WRONG),
  ],
])('the reason says what is wrong: %s', async (reason, url) => {
  const { problem, events } = await open(url);
  expect(problem).toStartWith(reason);
  const shown = problem + JSON.stringify(events);
  for (const secret of [PASSWORD, WRONG, 'somebody']) expect(shown).not.toContain(secret);
});

test('a Cluster of which REDIS_URL names one node is refused before a sign-in starts', async () => {
  await node.cli('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383);
  const { problem, events } = await open(`redis://${at(node.port)}`);
  expect(problem).toBe('it is open');
  const remedy = 'this is a node of a Cluster: REDIS_URL must name several nodes, or one twice';
  expect(events).toEqual([{ type: 'store_refuses', reason: 'CROSSSLOT', remedy }]);
});

describe('while the relay tries', () => {
  test.concurrent.each([
    ['the reason is logged at once', nobody, 'nothing listens there (ECONNREFUSED)', 0],
    [
      'silence is logged after a second',
      silent.port,
      'the server does not answer',
      STORE_SILENCE_MS,
    ],
  ])('%s, with the time that is left', async (_, port, problem, afterMs) => {
    const { events } = await open(`redis://:${WRONG}@${at(port)}`);
    const secondsLeft = WAIT_SECONDS - afterMs / 1_000;
    expect(events).toEqual([{ type: 'store_waiting', problem, secondsLeft }]);
  });

  test('it gives up if its time ends between two attempts', async () => {
    let connections = 0;
    const { port } = await serveBytes(
      () => {},
      (socket) => {
        connections += 1;
        if (connections === 1) socket.destroy();
      },
    );
    const waitMs = 500;
    const timers = createFakeClock();
    const onEvent = () => timers.advance(waitMs);
    const opening = openTestRedis(`redis://${at(port)}`, { waitMs, timers, onEvent });
    await expect(opening).rejects.toThrow('the server closes the connection');
    expect(connections).toBe(1);
  }, 5_000);

  test.concurrent('a wrong password is tried once, without waiting, and the last line says so', async () => {
    await using redis = await startRedis({ password: PASSWORD });
    const { exitCode, output } = await runRelay({
      OAUTH_BASE_URL: 'http://127.0.0.1:3000',
      HOST: '127.0.0.1',
      PORT: '0',
      MAL_CLIENT_ID: 'mal-client',
      REDIS_URL: `redis://:${WRONG}@${at(redis.port)}`,
    });
    expect(exitCode).toBe(1);
    const lines = output.trimEnd().split('\n');
    expect(lines.at(-1)).toBe('REDIS_URL: the user or the password is wrong (WRONGPASS)');
    const log = createEventLog();
    lines.forEach(log.take);
    expect(log.events).toEqual([]);
    expect(await redis.cli('ACL', 'LOG')).toMatch(/^count\n1\nreason\nauth$/m);
  });
});
