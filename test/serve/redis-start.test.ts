/** A start with a Redis that cannot be used: what the terminal says, and that it never shows a password (docs/scaling.md). */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { STORE_SILENCE_MS } from '../kit/limits.ts';
import { findFreePort } from '../kit/process.ts';
import { serveBytes } from '../kit/provider.ts';
import { startRedisSentinel } from '../kit/redis/groups.ts';
import { startRedis } from '../kit/redis/server.ts';
import { createEventLog, launchRelay, runRelay } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';

setDefaultTimeout(30_000);

const PASSWORD = plantSecret('the-right-password');
const WRONG = plantSecret('another-password');

const [open, locked, secured, crowded, group] = await Promise.all([
  startRedis(),
  startRedis({ password: PASSWORD }),
  startRedis({ tls: true }),
  startRedis(),
  startRedisSentinel({ password: PASSWORD }),
]);
const servers: { stop(): void }[] = [];
afterAll(async () => {
  for (const server of servers) server.stop();
  itsOnlyClient.destroy();
  await Promise.all([open, locked, secured, crowded, group].map((each) => each.stop()));
});

/** A server that is no Redis, or not a whole one; returns its port. */
async function serve(
  onRequest: (socket: Socket, request: string) => void,
  onConnection?: (socket: Socket) => void,
): Promise<number> {
  const server = await serveBytes((socket, _, request) => onRequest(socket, request), onConnection);
  servers.push(server);
  return server.port;
}

const NOT_REDIS = 'HTTP/1.1 400 Bad Request\r\n\r\n';
const silent = await serve(() => {});
const closing = await serve(
  () => {},
  (socket) => socket.destroy(),
);
const web = await serve((socket) => socket.end(NOT_REDIS));
const lingering = await serve((socket) => socket.write(NOT_REDIS));
await crowded.cli('CONFIG', 'SET', 'maxclients', 1);
const itsOnlyClient = connect(crowded.port, '127.0.0.1');
itsOnlyClient.write('PING\r\n');
await once(itsOnlyClient, 'data');
const nobody = await findFreePort();
const at = (port: number) => `127.0.0.1:${port}`;

/** Long enough for a server that answers late. */
const WAIT_SECONDS = 3;

function run(url: string, env: Record<string, string> = {}) {
  return runRelay({
    ...{ OAUTH_BASE_URL: 'http://127.0.0.1:3000', HOST: '127.0.0.1', PORT: '0' },
    ...{ MAL_CLIENT_ID: 'mal-client', REDIS_URL: url, REDIS_WAIT_SECONDS: `${WAIT_SECONDS}` },
    ...env,
  });
}

function eventsOf(output: string) {
  const log = createEventLog();
  output.split('\n').forEach(log.take);
  return log.events;
}

describe('the last line says what is wrong', () => {
  test.concurrent.each([
    ['the user or the password is wrong', `redis://:${WRONG}@${at(locked.port)}`],
    ['the user or the password is wrong', `redis://somebody:${WRONG}@${at(locked.port)}`],
    ['the server requires a password', `redis://${at(locked.port)}`],
    ['nothing listens there (ECONNREFUSED)', `redis://:${WRONG}@${at(nobody)}`],
    ['the host name is unknown (', `redis://:${WRONG}@nosuch.invalid`],
    ['the server does not answer', `redis://:${WRONG}@${at(silent)}`],
    ['the server closes the connection', `redis://:${WRONG}@${at(closing)}`],
    ['the server there is not Redis', `redis://:${WRONG}@${at(web)}`],
    ['the server there is not Redis', `redis://:${WRONG}@${at(lingering)}`],
    [
      'the server closes the connection; one that speaks TLS requires',
      `redis://${at(secured.port)}`,
    ],
    ['the certificate is not trusted (', `rediss://${at(secured.port)}`],
    ['the server does not speak TLS', `rediss://:${WRONG}@${at(web)}`],
    ['the server does not answer; does it speak TLS?', `rediss://${at(open.port)}`],
    ['the server has as many connections as it may', `redis://${at(crowded.port)}`],
    ['the server has no database of that number', `redis://${at(open.port)}/99`],
    ['nothing listens there (ECONNREFUSED)', `redis://${at(nobody)},${at(nobody)}`],
    ['the user or the password', `redis://:${WRONG}@${at(locked.port)},${at(locked.port)}`],
    ['the server is not a Cluster', `redis://${at(open.port)},${at(open.port)}`],
    ['nothing listens there (ECONNREFUSED)', `redis+sentinel://:${WRONG}@${at(nobody)}/primary`],
    ['the server is not a Sentinel', `redis+sentinel://${at(open.port)}/primary`],
    ['the Sentinels know no primary of that name', group.url.replace(/[^/]*$/, 'nosuch')],
    [
      'the primary that the Sentinels name: the user or the password is wrong',
      group.url.replace(PASSWORD, WRONG),
    ],
  ])('%s', async (problem, url) => {
    const { exitCode, output } = await run(url);
    expect(exitCode).toBe(1);
    expect(output.trimEnd().split('\n').at(-1)).toStartWith(`REDIS_URL: ${problem}`);
    expect(output).not.toContain('stray_error');
    for (const secret of [PASSWORD, WRONG, 'somebody']) expect(output).not.toContain(secret);
  });
});

/** Forwards to a Redis, but the named command ends the connection, or nothing is answered from then on. */
const failAt = (command: string, how: 'closed' | 'unanswered') =>
  serve(
    () => {},
    (client) => {
      const redis = connect(open.port, '127.0.0.1');
      servers.push({ stop: () => redis.destroy() });
      redis.on('error', () => {});
      let isUnanswered = false;
      client.on('data', (data) => {
        if (!new RegExp(`\\r\\n${command}\\r\\n`, 'i').test(data.toString())) {
          if (!isUnanswered) redis.write(data);
        } else if (how === 'closed') client.destroy();
        else isUnanswered = true;
      });
      redis.on('data', (data) => client.write(data));
    },
  );

describe.each(['HELLO', 'INFO', 'CONFIG', 'SUBSCRIBE', 'PUBLISH', 'TIME', 'EVALSHA'])(
  'at the first %s of a start',
  (command) => {
    test.concurrent.each([
      ['closed', 'the server closes the connection'],
      ['unanswered', 'the server does not answer'],
    ] as const)('%s: %s', async (how, problem) => {
      const { exitCode, output } = await run(`redis://${at(await failAt(command, how))}`);
      expect(exitCode).toBe(1);
      expect(output).toContain(`REDIS_URL: ${problem}`);
      for (const event of ['stray_error', 'listening']) expect(output).not.toContain(event);
    });
  },
);

describe('while the relay tries', () => {
  test.concurrent.each([
    ['the reason is logged at once', nobody, 'nothing listens there (ECONNREFUSED)', 0],
    ['silence is logged after a second', silent, 'the server does not answer', STORE_SILENCE_MS],
  ])('%s, with the time that is left', async (_, port, problem, afterMs) => {
    const { output } = await run(`redis://:${WRONG}@${at(port)}`, { LOG_FORMAT: 'json' });
    const secondsLeft = WAIT_SECONDS - afterMs / 1_000;
    const event = { level: 'warning', event: 'store_awaited', problem, secondsLeft };
    expect(eventsOf(output)).toMatchObject([event, { event: 'not_started' }]);
  });

  test.concurrent('a wrong password is tried once, without waiting', async () => {
    await using redis = await startRedis({ password: PASSWORD });
    const { output } = await run(`redis://:${WRONG}@${at(redis.port)}`);
    expect(eventsOf(output)).toEqual([]);
    expect(await redis.cli('ACL', 'LOG')).toMatch(/^count\n1\nreason\nauth$/m);
  });

  test.concurrent('a server that comes up meanwhile is used', async () => {
    await using redis = await startRedis();
    await redis.kill();
    const relay = await launchRelay({ REDIS_URL: redis.url });
    await relay.waitForEvent('store_awaited');
    await redis.restart();
    await relay.waitForEvent('listening');
    expect(await relay.stop()).toBe(0);
  });
});
