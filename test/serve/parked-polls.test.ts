/** hazards.md §1b, Disconnect while parked, Bytes on a parked connection: nothing is lost by it. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { startLocalRelay } from '../support/local-relay.ts';
import { openRaw, type RawConnection } from '../support/raw-connection.ts';
import type { RelayProcess } from '../support/relay-process.ts';
import { untilWaiting } from '../support/until-waiting.ts';
import { poll, startSession } from '../support/wire.ts';

let relay: RelayProcess;
beforeEach(async () => {
  relay = await startLocalRelay({ MAL_CLIENT_ID: 'mal-client' });
});
afterEach(() => relay.stop());

test.each<[string, (connection: RawConnection) => unknown, answer: RegExp]>([
  ['leaves (FIN)', ({ leave }) => leave(), /^$/],
  ['is cut off (RST)', ({ reset }) => reset(), /^$/],
  ['says that it has said all (half-close)', ({ sendEnd }) => sendEnd(), /^$/],
  ['asks for more', ({ send }) => send('GET /health HTTP/1.1\r\nHost: a\r\n\r\n'), /^$/],
  ['sends an empty line', ({ send }) => send('\r\n'), /^HTTP\/1\.1 400 /],
  ['sends what is no HTTP', ({ send }) => send('tokens, please\r\n\r\n'), /^HTTP\/1\.1 400 /],
])('a device that %s while it waits is let go of, and loses nothing', async (_, act, answer) => {
  const { session, state } = await startSession(relay.baseUrl, 'mal');
  const connection = openRaw(relay.baseUrl);
  await connection.send(`GET /auth/result?session=${session} HTTP/1.1\r\nHost: a\r\n\r\n`);
  await untilWaiting(relay, 1);
  await act(connection);
  expect(await connection.closed).toMatch(answer);
  // The relay learns of a closed connection with the next thing it reads.
  await poll(relay.baseUrl, 'unknown');
  await fetch(`${relay.baseUrl}/auth/mal/callback?state=${state}&error=access_denied`);
  const again = await poll(relay.baseUrl, session);
  expect(await again.json()).toEqual({ error: 'access_denied' });
});
