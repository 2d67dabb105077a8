/** Which requests the proxies of deploy/ send again: none of those that could sign a user out. */
import { describe, expect, test } from 'bun:test';
import type { Socket } from 'node:net';
import { findFreePort } from '../kit/process.ts';
import { serveBytes } from '../kit/provider.ts';
import { PROXY_NAMES, startProxy } from '../kit/proxies.ts';

/** Method, path, and whether it may arrive twice. A code is exchanged once however often its callback comes. */
const ROUTES = [
  ['GET', '/auth/result?session=s', true],
  ['GET', '/auth/mal?state=s', true],
  ['GET', '/auth/mal/callback?state=s&code=c', true],
  ['GET', '/services', true],
  ['POST', '/auth/start', true],
  ['POST', '/oauth2/mal/device_authorization', true],
  ['POST', '/open', true],
  ['POST', '/relay/auth/start', true],
  ['POST', '/refresh', false],
  ['POST', '/relay/refresh', false],
  ['POST', '/oauth2/mal/token', false],
  ['POST', '/auth/mal?state=s', false],
  ['POST', '/L/BCDF-GHJK', false],
  ['POST', '/link', false],
] as const;

describe.each(PROXY_NAMES)('%s', (name) => {
  describe.each([
    ['whose answer is lost', (socket: Socket) => void socket.destroy(), true],
    ['that gets a 503 from a relay', (socket: Socket) => void socket.end(BUSY), name === 'nginx'],
  ])('a request %s', async (_, fail, isTriedAgain) => {
    let arrived = 0;
    /** Answers /health, and counts and fails any other request. */
    const startFailing = () =>
      serveBytes((socket, _, request) => {
        if (request.startsWith('GET /health ')) {
          socket.write(HEALTHY);
        } else if (/^(GET|POST) /.test(request)) {
          arrived += 1;
          fail(socket);
        }
      });
    const [one, other] = [await startFailing(), await startFailing()];
    const proxy = await startProxy(name, [one.port, other.port]);

    test.each(ROUTES)('%s %s may be sent again: %p', async (method, path, mayRepeat) => {
      const before = arrived;
      const init = { method, ...(method === 'POST' && { body: '{}' }) };
      const answer = await proxy.ask(path, init);
      // They answer a poll with 204, so that it is sent again.
      const isPoll = path.startsWith('/auth/result');
      expect(answer.status).toBeOneOf(isPoll ? [204, 502, 503] : [502, 503]);
      // Those for one relay send no POST again.
      const isRepeated = isTriedAgain && mayRepeat && (name === 'nginx' || method === 'GET');
      if (isRepeated) expect(arrived - before).toBeGreaterThan(1);
      else expect(arrived - before).toBe(1);
    });
  });
});

const HEALTHY = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const BUSY = 'HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';

test('nginx sends a refresh to the other relay if one does not run: nothing was sent', async () => {
  using relay = await serveBytes((socket) => void socket.end(HEALTHY));
  await using proxy = await startProxy('nginx', [await findFreePort(), relay.port]);
  for (let count = 0; count < 4; count += 1) {
    expect((await proxy.ask('/refresh', { method: 'POST', body: '{}' })).status).toBe(200);
  }
});
