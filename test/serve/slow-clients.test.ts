/** hazards.md §1a: clients that send slowly or not at all. Each waits for the server to act. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startLocalRelay } from '../support/local-relay.ts';
import { openRaw, type RawConnection } from '../support/raw-connection.ts';
import { sendRaw, statusOf } from '../support/raw-http.ts';
import type { RelayProcess } from '../support/relay-process.ts';
import { startSession } from '../support/wire.ts';

const LONGEST_MS = 60_000;
const TRICKLE_MS = 200;

/** Longer than the runtime's own limit on idle connections, 10 s, which it keeps to within 4 s. */
const LONG_POLL_SECONDS = '15';

const relays: RelayProcess[] = [];
async function start(env: Record<string, string> = {}): Promise<RelayProcess> {
  const started = await startLocalRelay({ MAL_CLIENT_ID: 'mal-client', ...env });
  relays.push(started);
  return started;
}

let relay: RelayProcess;
beforeAll(async () => {
  relay = await start({ START_BURST: '100' });
});
afterAll(() => Promise.all(relays.map((each) => each.stop())));

/** Sends a byte now and then until the server has had enough; resolves with its answer. */
async function trickle(connection: RawConnection): Promise<string> {
  const timer = setInterval(() => void connection.send('a'), TRICKLE_MS);
  const answer = await connection.closed;
  clearInterval(timer);
  return answer;
}

describe('a connection that is not getting anywhere is closed by the server', () => {
  test.concurrent(
    'half a header',
    async () => {
      const answer = await sendRaw(relay.baseUrl, 'GET /auth/done HTTP/1.1\r\nHost:');
      expect(answer).toBe('');
    },
    LONGEST_MS,
  );

  test.concurrent(
    'a header of a byte now and then',
    async () => {
      const connection = openRaw(relay.baseUrl);
      await connection.send('GET /auth/done HTTP/1.1\r\nHost: ');
      expect(await trickle(connection)).toBe('');
    },
    LONGEST_MS,
  );

  test.concurrent(
    'a connection kept alive with nothing more to say',
    async () => {
      const { baseUrl } = await start({ POLL_SECONDS: '1' });
      const answer = await sendRaw(baseUrl, 'GET /health HTTP/1.1\r\nHost: a\r\n\r\n');
      expect(statusOf(answer)).toBe(200);
    },
    LONGEST_MS,
  );
});

describe('the body of a start', () => {
  const post = (bytes: number) =>
    `POST /auth/start HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: ${bytes}\r\n\r\n`;

  test.concurrent('may come a byte at a time', async () => {
    const body = JSON.stringify({ service: 'mal' });
    const connection = openRaw(relay.baseUrl);
    await connection.send(post(body.length));
    for (const byte of body) {
      await connection.send(byte);
      // By then the byte has been read, so the next one comes by itself.
      await fetch(`${relay.baseUrl}/health`);
    }
    expect(statusOf(await connection.closed)).toBe(200);
  });

  test.concurrent.each([
    ['stalls', (connection: RawConnection) => connection.closed],
    ['comes a byte now and then', trickle],
  ])(
    'that %s is answered 400 at its deadline',
    async (_, waitFor) => {
      const connection = openRaw(relay.baseUrl);
      await connection.send(`${post(100_000)}{"service":`);
      const [answer] = await Promise.all([connection.until('Invalid JSON'), waitFor(connection)]);
      expect(statusOf(answer)).toBe(400);
    },
    LONGEST_MS,
  );
});

test.concurrent(
  'a poll is held to its end, however long the connection has had nothing to say, and it serves on',
  async () => {
    const { baseUrl } = await start({ POLL_SECONDS: LONG_POLL_SECONDS });
    const { session } = await startSession(baseUrl, 'mal');
    const connection = openRaw(baseUrl);
    await connection.send(`GET /auth/result?session=${session} HTTP/1.1\r\nHost: a\r\n\r\n`);
    expect(statusOf(await connection.until('\r\n\r\n'))).toBe(204);
    await connection.send('GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    expect((await connection.closed).match(/HTTP\/1\.1 \d+/g)).toEqual([
      'HTTP/1.1 204',
      'HTTP/1.1 200',
    ]);
  },
  LONGEST_MS,
);
