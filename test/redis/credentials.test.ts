/** Whether Redis takes new credentials, where its answer and the end of the connection come together (docs/rotating.md). */
import { expect, test } from 'bun:test';
import { renewCredentials } from '../../src/stores/redis/credentials.ts';
import { serveBytes } from '../kit/provider.ts';
import { plantSecret } from '../kit/secrets.ts';

const [OLD, NEW] = ['old', 'new'].map((which) => plantSecret(`a-redis-password-that-is-${which}`));

function targetAt(port: number, password = '') {
  return {
    type: 'single',
    addresses: [{ host: '127.0.0.1', port }],
    tls: false,
    password,
  } as const;
}

test('a server that refuses them and closes the connection at once: the old ones stay', async () => {
  using server = await serveBytes((socket) => socket.end('-WRONGPASS invalid password\r\n'));
  const current = targetAt(server.port, OLD);
  expect(await renewCredentials(current, targetAt(server.port, NEW))).toEqual({
    problem: 'the user or the password is wrong (WRONGPASS)',
  });
  expect(current.password).toBe(OLD ?? '');
});

test('a server that cannot be reached: the new ones are used from now on', async () => {
  const server = await serveBytes(() => {});
  server.stop();
  const current = targetAt(server.port, OLD);
  expect(await renewCredentials(current, targetAt(server.port, NEW))).toBe('renewed');
  expect(current.password).toBe(NEW ?? '');
});
