/** hazards.md §1b, Out of FDs. */
import { expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { startLocalRelay } from '../support/local-relay.ts';
import { openRaw } from '../support/raw-connection.ts';

const OPEN_FILES = 200;
const CONNECTIONS = 300;

test('a relay that ran out of sockets serves again as soon as some are closed', async () => {
  const relay = await startLocalRelay({ MAL_CLIENT_ID: 'm' }, { openFiles: OPEN_FILES });
  const openFiles = () => readdirSync(`/proc/${relay.pid}/fd`).length;
  const connections = Array.from({ length: CONNECTIONS }, () => openRaw(relay.baseUrl));
  await Promise.all(connections.map(({ send }) => send('GET /health HTTP/1.1\r\nHost: a\r\n')));
  // Nobody tells of it but the kernel.
  while (openFiles() < OPEN_FILES) await Bun.sleep(10);
  for (const { leave } of connections) leave();
  expect((await fetch(`${relay.baseUrl}/health`)).status).toBe(200);
  expect(await relay.stop()).toBe(0);
});
