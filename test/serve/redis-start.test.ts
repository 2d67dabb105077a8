/** What the terminal says of a Redis that cannot be used, and what of REDIS_URL it never says. */
import { afterAll, describe, expect, test } from 'bun:test';
import { connect, createServer, type Socket } from 'node:net';
import { STORE_CONNECT_MS, STORE_SILENCE_MS } from '../../src/limits.ts';
import type { LogEvent } from '../support/event-log.ts';
import { findFreePort } from '../support/free-port.ts';
import { startRedis } from '../support/redis/start-redis.ts';
import { startRedisSentinel } from '../support/redis/start-sentinel.ts';
import { launchRelay } from '../support/relay-process.ts';
import { runRelay } from '../support/run-relay.ts';
import { plantSecret } from '../support/secrets.ts';

const PASSWORD = plantSecret('the-right-password');
const WRONG = plantSecret('another-password');

const closers: (() => void)[] = [];
const [open, locked, secured, group] = await Promise.all([
  startRedis(),
  startRedis({ password: PASSWORD }),
  startRedis({ tls: true }),
  startRedisSentinel({ password: PASSWORD }),
]);
afterAll(async () => {
  for (const close of closers) close();
  await Promise.all([open.stop(), locked.stop(), secured.stop(), group.stop()]);
});

/** A server that says what the test makes it say; returns its port. */
function listen(onConnection: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    onConnection(socket);
  });
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return new Promise((resolve, reject) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (typeof address === 'object' && address) resolve(address.port);
      else reject(new Error('no port'));
    });
  });
}

/** Speaks as Redis does, but for what is asked of it by name. */
const pretend = (answer: (socket: Socket, command: string) => void) =>
  listen((socket) => socket.on('data', (data) => answer(socket, data.toString())));

function run(url: string) {
  return runRelay({
    OAUTH_BASE_URL: 'http://127.0.0.1:3000',
    MAL_CLIENT_ID: 'mal-client',
    HOST: '127.0.0.1',
    PORT: '0',
    REDIS_URL: url,
  });
}

const silent = await listen(() => {});
const closing = await listen((socket) => socket.destroy());
const web = await pretend((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
const lingering = await pretend((socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'));
const nobody = await findFreePort();
const at = (port: number) => `127.0.0.1:${port}`;

describe('the last words say what is wrong', () => {
  test.concurrent.each([
    ['the user or the password is wrong', `redis://:${WRONG}@${at(locked.port)}`],
    ['the user or the password is wrong', `redis://somebody:${WRONG}@${at(locked.port)}`],
    ['the server wants a password', `redis://${at(locked.port)}`],
    ['nothing listens there (ECONNREFUSED)', `redis://:${WRONG}@${at(nobody)}`],
    ['the host name is unknown (', `redis://:${WRONG}@nosuch.invalid`],
    ['the server does not answer', `redis://:${WRONG}@${at(silent)}`],
    ['the server closes the connection', `redis://:${WRONG}@${at(closing)}`],
    ['the server there is not Redis', `redis://:${WRONG}@${at(web)}`],
    ['the server there is not Redis', `redis://:${WRONG}@${at(lingering)}`],
    ['the server closes the connection; one that speaks TLS wants', `redis://${at(secured.port)}`],
    ['the certificate is not trusted (', `rediss://${at(secured.port)}`],
    ['the server does not speak TLS', `rediss://:${WRONG}@${at(web)}`],
    ['the server does not answer; does it speak TLS?', `rediss://${at(open.port)}`],
    ['the server has no database of that number', `redis://${at(open.port)}/99`],
    ['nothing listens there (ECONNREFUSED)', `redis://${at(nobody)},${at(nobody)}`],
    ['the user or the password', `redis://:${WRONG}@${at(locked.port)},${at(locked.port)}`],
    ['the server is no Cluster', `redis://${at(open.port)},${at(open.port)}`],
    ['nothing listens there (ECONNREFUSED)', `redis+sentinel://:${WRONG}@${at(nobody)}/primary`],
    ['the server is no Sentinel', `redis+sentinel://${at(open.port)}/primary`],
    ['the Sentinels know no primary of that name', group.url.replace(/[^/]*$/, 'nosuch')],
    [
      'the primary that the Sentinels name: the user or the password is wrong',
      group.url.replace(PASSWORD, WRONG),
    ],
  ])(
    '%s',
    async (problem, url) => {
      const { exitCode, output } = await run(url);
      expect(exitCode).toBe(1);
      expect(output.trimEnd().split('\n').at(-1)).toStartWith(`REDIS_URL: ${problem}`);
      expect(output).not.toContain('stray_error');
      for (const secret of [PASSWORD, WRONG, 'somebody']) expect(output).not.toContain(secret);
    },
    30_000,
  );
});

/** A way to `open` on which the named command ends the connection, or is the last that is heard of. */
const failAt = (command: string, how: 'closed' | 'unanswered') =>
  listen((client) => {
    const redis = connect(open.port, '127.0.0.1');
    closers.push(() => redis.destroy());
    redis.on('error', () => {});
    let isUnanswered = false;
    client.on('data', (data) => {
      if (!new RegExp(`\\r\\n${command}\\r\\n`, 'i').test(data.toString())) {
        if (!isUnanswered) redis.write(data);
      } else if (how === 'closed') client.destroy();
      else isUnanswered = true;
    });
    redis.on('data', (data) => client.write(data));
  });

describe.each(['HELLO', 'INFO', 'CONFIG', 'SUBSCRIBE', 'PUBLISH', 'TIME'])(
  'the first %s of a start',
  (command) => {
    test.concurrent.each([
      ['closed', 'the server closes the connection'],
      ['unanswered', 'the server does not answer'],
    ] as const)(
      '%s: %s',
      async (how, problem) => {
        const { exitCode, output } = await run(`redis://${at(await failAt(command, how))}`);
        expect(exitCode).toBe(1);
        expect(output).toContain(`REDIS_URL: ${problem}`);
        expect(output).not.toContain('stray_error');
        expect(output).not.toContain('listening');
      },
      30_000,
    );
  },
);

describe('while it tries', () => {
  test.concurrent('the reason is logged at once, with the time that is left', async () => {
    const { output } = await run(`redis://:${WRONG}@${at(nobody)}`);
    expect(eventsOf(output)).toMatchObject([
      {
        level: 'warning',
        event: 'store_awaited',
        problem: 'nothing listens there (ECONNREFUSED)',
        secondsLeft: STORE_CONNECT_MS / 1_000,
      },
    ]);
  });

  test.concurrent('silence is logged before it is over', async () => {
    const { output } = await run(`redis://${at(silent)}`);
    const secondsLeft = (STORE_CONNECT_MS - STORE_SILENCE_MS) / 1_000;
    expect(eventsOf(output)).toMatchObject([{ event: 'store_awaited', secondsLeft }]);
  });

  test.concurrent('a wrong password is not tried again, and nothing is waited for', async () => {
    const redis = await startRedis({ password: PASSWORD });
    const { output } = await run(`redis://:${WRONG}@${at(redis.port)}`);
    expect(eventsOf(output)).toEqual([]);
    const refusals = await redis.cli('ACL', 'LOG');
    expect(refusals).toMatch(/^count\n1\nreason\nauth$/m);
    await redis.stop();
  });

  test.concurrent('a server that comes up meanwhile is used', async () => {
    const port = await findFreePort();
    const relay = launchRelay({
      OAUTH_BASE_URL: 'http://127.0.0.1:3000',
      MAL_CLIENT_ID: 'mal-client',
      HOST: '127.0.0.1',
      PORT: '0',
      REDIS_URL: `redis://${at(port)}`,
    });
    await relay.waitForEvent(({ event }) => event === 'store_awaited');
    const late = createServer((client) => {
      const redis = connect(open.port, '127.0.0.1');
      client.pipe(redis).pipe(client);
      for (const socket of [client, redis]) socket.on('error', () => {});
    });
    late.listen(port, '127.0.0.1');
    await relay.waitForEvent(({ event }) => event === 'listening');
    expect(await relay.stop()).toBe(0);
    late.close();
  });
});

function eventsOf(output: string): LogEvent[] {
  const lines = output.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line) as LogEvent);
}
