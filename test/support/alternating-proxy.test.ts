import { afterAll, expect, test } from 'bun:test';
import { PROXY_ADDRESS, startAlternatingProxy } from './alternating-proxy.ts';

/** Says who it is and what it was asked; `/held` is never answered. */
function startBackend(name: string) {
  const arrived = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request, bun): Promise<Response> {
      const { pathname, search } = new URL(request.url);
      if (pathname === '/held') {
        request.signal.addEventListener('abort', () => left.resolve());
        arrived.resolve();
        await left.promise;
      }
      return Response.json({
        ...{ name, method: request.method, path: pathname + search },
        body: await request.text(),
        peer: bun.requestIP(request)?.address,
        forwardedFor: request.headers.get('x-forwarded-for'),
      });
    },
  });
  return {
    port: server.port ?? 0,
    arrived: arrived.promise,
    left: left.promise,
    stop: () => server.stop(true),
  };
}

const backends = [startBackend('one'), startBackend('other')];
const proxy = await startAlternatingProxy(backends.map(({ port }) => port));
afterAll(async () => {
  proxy.stop();
  for (const { stop } of backends) await stop();
});

async function ask(path: string, init: RequestInit = {}): Promise<Record<string, unknown>> {
  const response = await fetch(proxy.baseUrl + path, init);
  return (await response.json()) as Record<string, unknown>;
}

test('every request goes to the other one than the request before, as it is', async () => {
  const answers = [
    await ask('/a?b=c', { method: 'POST', body: 'd' }),
    await ask('/a'),
    await ask('/a'),
  ];
  expect(answers[0]).toMatchObject({ method: 'POST', path: '/a?b=c', body: 'd' });
  const [first, second, third] = answers.map(({ name }) => name);
  expect(new Set([first, second])).toEqual(new Set(['one', 'other']));
  expect(third).toBe(first);
});

test('it says whom a request comes from, after what the client says, and comes from its own address', async () => {
  expect(await ask('/')).toMatchObject({ forwardedFor: '127.0.0.1', peer: PROXY_ADDRESS });
  const headers = { 'X-Forwarded-For': '192.0.2.1' };
  expect(await ask('/', { headers })).toMatchObject({ forwardedFor: '192.0.2.1, 127.0.0.1' });
});

test('a client that leaves has left the relay too', async () => {
  const client = new AbortController();
  const answer = ask('/held', { signal: client.signal }).catch(() => 'left');
  await Promise.race(backends.map(({ arrived }) => arrived));
  client.abort();
  expect(await answer).toBe('left');
  await Promise.race(backends.map(({ left }) => left));
});
