/** Clients that send slowly, leave at odd moments or open too many connections: they lose nothing and keep nothing. */
import { describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { poll, start } from '../kit/device.ts';
import { has } from '../kit/needs.ts';
import { NODE } from '../kit/process.ts';
import {
  launchRelay,
  MAIN,
  type RelayProcess,
  ROOT,
  RUNTIMES,
  startRelay,
  untilHealthy,
} from '../kit/relay.ts';
import { openRaw, type RawConnection, statusesOf, statusOf } from '../kit/sockets.ts';
import { deny } from '../kit/user.ts';
import { pollUntil } from '../kit/wait.ts';

const relay = await startRelay({ START_BURST: '10000' });

const GET_POLL = (session: string, connection = 'keep-alive') =>
  `GET /auth/result?session=${session} HTTP/1.1\r\nHost: a\r\nConnection: ${connection}\r\n\r\n`;

/** The relay has noticed what happened on other connections: it has answered a later request. */
const untilNoticed = async ({ ask }: RelayProcess) => void (await ask('/auth/result?session=x'));

describe.concurrent('a connection that makes no progress is closed by the relay', () => {
  const TRICKLE_MS = 200;

  /** Sends a byte now and then until the relay closes the connection; resolves with its response. */
  async function trickle(connection: RawConnection): Promise<string> {
    const timer = setInterval(() => void connection.send('a'), TRICKLE_MS);
    const answer = await connection.closed;
    clearInterval(timer);
    return answer;
  }

  const post = (bytes: number) =>
    `POST /auth/start HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: ${bytes}\r\n\r\n`;

  test('a header of a byte now and then', async () => {
    const connection = openRaw(relay.baseUrl);
    await connection.send('GET /auth/done HTTP/1.1\r\nHost: ');
    expect(await trickle(connection)).toBe('');
  });

  describe.each(RUNTIMES)('on %s', (_, command) => {
    test.each([
      ['an idle keep-alive connection', 0, (connection: RawConnection) => connection.closed],
      ['a GET whose body comes a byte now and then', 9_000, trickle],
    ])('%s', async (_, bytes, waitFor) => {
      await using own = await startRelay({ POLL_SECONDS: '1' }, { command });
      const connection = openRaw(own.baseUrl);
      await connection.send(`GET /health HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\n\r\n`);
      expect(statusOf(await waitFor(connection))).toBe(200);
    });
  });

  test.each([
    ['stalls', (connection: RawConnection) => connection.closed],
    ['comes a byte now and then', trickle],
  ])('a start body that %s is 400 at its deadline', async (_, waitFor) => {
    const connection = openRaw(relay.baseUrl);
    await connection.send(`${post(100_000)}{"service":`);
    const [answer] = await Promise.all([connection.until('Invalid JSON'), waitFor(connection)]);
    expect(statusOf(answer)).toBe(400);
  });

  test('but a start body may come a byte at a time', async () => {
    const body = JSON.stringify({ service: 'mal' });
    const connection = openRaw(relay.baseUrl);
    await connection.send(post(body.length));
    for (const byte of body) {
      await connection.send(byte);
      await untilNoticed(relay);
    }
    expect(statusOf(await connection.closed)).toBe(200);
  });
});

describe('a device that leaves while its poll is parked', () => {
  test.each<[string, (connection: RawConnection) => unknown, answer: RegExp]>([
    ['by FIN', ({ leave }) => leave(), /^$/],
    ['by RST', ({ reset }) => reset(), /^$/],
    ['by a half-close', ({ sendEnd }) => sendEnd(), /^$/],
    ['by another request', ({ send }) => send('GET /health HTTP/1.1\r\nHost: a\r\n\r\n'), /^$/],
    ['by an empty line', ({ send }) => send('\r\n'), /^HTTP\/1\.1 400 /],
    ['by what is not HTTP', ({ send }) => send('tokens, please\r\n\r\n'), /^HTTP\/1\.1 400 /],
  ])('%s loses nothing: its next poll gets the result', async (_, act, answer) => {
    await using own = await startRelay();
    const { session, state } = await start(own);
    const connection = openRaw(own.baseUrl);
    await connection.send(GET_POLL(session));
    await own.untilParked(1);
    await act(connection);
    expect(await connection.closed).toMatch(answer);
    await untilNoticed(own);
    await deny(own, state);
    expect(await (await poll(own, session)).json()).toEqual({ error: 'access_denied' });
  });
});

describe('on Node, requests that are sent before the response to a poll', () => {
  const [, [, command]] = RUNTIMES;

  test('wait for it, and are then served in their order', async () => {
    await using own = await startRelay({}, { command });
    const { session, state } = await start(own);
    const connection = openRaw(own.baseUrl);
    const next = ['/health', '/auth/'].map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await connection.send(GET_POLL(session) + next.join(''));
    await own.untilParked(1);
    await deny(own, state);
    expect(statusesOf(await connection.until('404 page not found'))).toEqual([200, 200, 404]);
    connection.leave();
  });

  test('are not begun: if the device leaves, no poll behind the first one takes a result', async () => {
    await using own = await startRelay({}, { command });
    const [first, second] = [await start(own), await start(own)];
    const connection = openRaw(own.baseUrl);
    await connection.send(GET_POLL(first.session) + GET_POLL(second.session));
    await own.untilParked(1);
    connection.leave();
    await untilNoticed(own);
    await deny(own, second.state);
    expect(await (await poll(own, second.session)).json()).toEqual({ error: 'access_denied' });
  });

  test('close the connection if they are many', async () => {
    await using own = await startRelay({}, { command });
    const { session } = await start(own);
    const connection = openRaw(own.baseUrl);
    await connection.send(GET_POLL(session).repeat(12_800));
    expect(statusOf(await connection.closed)).toBe('closed');
    await untilNoticed(own);
    expect(await own.waitForEvents('poll_waiting', 1)).toHaveLength(1);
  });
});

describe('clients that leave after half a body', () => {
  const HALF_BODIES = [
    'Content-Length: 400\r\n\r\n{"service":',
    'Transfer-Encoding: chunked\r\n\r\nb\r\n{"service":\r\n',
  ];
  const WAYS: ((connection: RawConnection) => void)[] = [
    ({ leave }) => leave(),
    ({ sendEnd }) => sendEnd(),
    ({ reset }) => reset(),
  ];
  /** Moments at which the relay has read none, some or all of it; it reports nothing of that. */
  const AFTER_MS = [0, 10, 100];

  test.each([
    ['Bun', [process.execPath, MAIN]],
    ['Node, in the host of examples/', [NODE, `${ROOT}examples/node-server.mjs`]],
  ])('on %s cause no error', async (_, command) => {
    const own = await launchRelay({ START_BURST: '10000' }, { command });
    await untilHealthy(own.baseUrl);
    async function sendHalf(halfBody: string, end: (typeof WAYS)[number], afterMs: number) {
      const connection = openRaw(own.baseUrl);
      await connection.send(`POST /auth/start HTTP/1.1\r\nHost: a\r\n${halfBody}`);
      await Bun.sleep(afterMs);
      end(connection);
      await connection.closed;
    }
    const departures = HALF_BODIES.flatMap((halfBody) =>
      WAYS.flatMap((end) =>
        AFTER_MS.flatMap((ms) => Array.from({ length: 10 }, () => sendHalf(halfBody, end, ms))),
      ),
    );
    await Promise.all(departures);
    expect((await own.ask('/health')).status).toBe(200);
    // An error that came late would show in the exit code.
    expect(await own.stop()).toBe(0);
    expect(own.events('unhandled_error')).toEqual([]);
  });
});

const onLinux = test.if(has('Linux', 'a relay that ran out of sockets serves again'));

onLinux('a relay that ran out of sockets serves again as soon as some are closed', async () => {
  const own = await startRelay({}, { openFiles: 200 });
  const connections = Array.from({ length: 300 }, () => openRaw(own.baseUrl));
  await Promise.all(connections.map(({ send }) => send('GET /health HTTP/1.1\r\nHost: a\r\n')));
  const countOpen = () => readdirSync(`/proc/${own.pid}/fd`).length;
  await pollUntil('no file can be opened', () => countOpen() >= 200);
  for (const { leave } of connections) leave();
  expect((await own.ask('/health')).status).toBe(200);
  expect(await own.stop()).toBe(0);
});
