/** Which requests the proxies of deploy/ send again: none of those that could sign a user out. All real. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { Socket } from 'node:net';
import { signInAs } from '../kit/browser.ts';
import { poll, start } from '../kit/device.ts';
import { type OpenIdProvider, startOpenId } from '../kit/openid.ts';
import { findFreePort } from '../kit/process.ts';
import { serveBytes } from '../kit/provider.ts';
import { PROXY_NAMES, type ProxyName, startProxy } from '../kit/proxies.ts';
import { startRedis } from '../kit/redis/server.ts';
import { startRelay } from '../kit/relay.ts';
import { pollUntil } from '../kit/wait.ts';

setDefaultTimeout(60_000);

/** Method, path, and whether it may arrive twice. A code is exchanged once however often its callback comes. */
const ROUTES = [
  ['GET', '/auth/result?session=s', true],
  ['GET', '/auth/mal?state=s', true],
  ['GET', '/auth/mal/callback?state=s&code=c', true],
  ['GET', '/services', true],
  ['POST', '/auth/start', true],
  ['POST', '/oauth2/mal/device_authorization', true],
  ['POST', '/relay/auth/start', true],
  ['POST', '/refresh', false],
  ['POST', '/relay/refresh', false],
  ['POST', '/oauth2/mal/token', false],
  ['POST', '/auth/mal?state=s', false],
  ['POST', '/L/BCDF-GHJK', false],
  ['POST', '/link', false],
] as const;

describe.each(PROXY_NAMES)('%s', (name) => {
  const closers: (() => unknown)[] = [];
  afterAll(async () => {
    for (const close of closers.reverse()) await close();
  });

  /** Two relays that answer /health, and count and fail any other request. */
  async function startFailing(fail: (socket: Socket) => void) {
    let arrived = 0;
    async function startOne(): Promise<number> {
      const relay = await serveBytes((socket, _, request) => {
        if (request.startsWith('GET /health ')) {
          socket.write(HEALTHY);
        } else if (/^(GET|POST) /.test(request)) {
          arrived += 1;
          fail(socket);
        }
      });
      closers.push(relay.stop);
      return relay.port;
    }
    const proxy = await startProxy(name, [await startOne(), await startOne()]);
    closers.push(proxy.stop);
    return { proxy, arrived: () => arrived };
  }

  describe.each([
    ['whose answer is lost', (socket: Socket) => void socket.destroy(), true],
    ['that gets a 503 from a relay', (socket: Socket) => void socket.end(BUSY), name === 'nginx'],
  ])('a request %s', async (_, fail, isTriedAgain) => {
    const { proxy, arrived } = await startFailing(fail);

    test.each(ROUTES)('%s %s may be sent again: %p', async (method, path, mayRepeat) => {
      const before = arrived();
      const init = { method, ...(method === 'POST' && { body: '{}' }) };
      const answer = await proxy.ask(path, init);
      // nginx answers a poll with 204, so that it is sent again.
      const isPoll = name !== 'Caddy' && path.startsWith('/auth/result');
      expect(answer.status).toBeOneOf(isPoll ? [204, 502, 503] : [502, 503]);
      // Those for one relay send no POST again.
      const isRepeated = isTriedAgain && mayRepeat && (name === 'nginx' || method === 'GET');
      if (isRepeated) expect(arrived() - before).toBeGreaterThan(1);
      else expect(arrived() - before).toBe(1);
    });
  });
});

const HEALTHY = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const BUSY = 'HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';

interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string;
}

const envOf = ({ clientId, authorizeUrl }: OpenIdProvider) => ({
  PROVIDERS: 'openid',
  OPENID_CLIENT_ID: clientId,
  OPENID_AUTHORIZE_URL: authorizeUrl,
  OPENID_PKCE: 'S256',
  OPENID_SCOPE: 'openid profile offline_access',
  OPENID_AUTHORIZE_PARAMS: 'prompt=consent',
});

/** Two relays behind the proxy, of which the second may be missing, and the tokens of a device that has signed in. */
async function startStage(name: ProxyName, isOtherRunning = true) {
  await using stack = new AsyncDisposableStack();
  const redis = stack.use(await startRedis());
  const ports = [await findFreePort(), await findFreePort()] as const;
  const baseUrl = `http://127.0.0.1:${ports[0]}`;
  const provider = await startOpenId(`${baseUrl}/auth/openid/callback`);
  stack.defer(provider.stop);
  const settings = { OAUTH_BASE_URL: baseUrl, REDIS_URL: redis.url };
  const env = { ...settings, TRUSTED_PROXY_CIDRS: '127.0.0.1', ...envOf(provider) };
  async function startAt(port: number, tokenHost: string) {
    const OPENID_TOKEN_URL = provider.tokenUrl.replace('127.0.0.1', tokenHost);
    const started = await startRelay({ ...env, OPENID_TOKEN_URL }, { port });
    stack.defer(async () => void (await started.stop('SIGKILL')));
    return started;
  }
  const relay = await startAt(ports[0], '127.0.0.1');
  const other = isOtherRunning ? await startAt(ports[1], 'localhost') : undefined;
  const proxy = stack.use(await startProxy(name, ports));
  const { session, url } = await start(relay, 'openid');
  const polled = poll(relay, session);
  await signInAs('Ada', url, AbortSignal.timeout(20_000));
  const tokens = (await (await polled).json()) as Tokens;
  const owned = stack.move();
  return {
    provider,
    proxy,
    tokens,
    /** The relay that made the provider's last request. */
    findAsking() {
      const isOther = provider.requests.at(-1)?.headers.host?.startsWith('localhost');
      return isOther && other ? other : relay;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const ENDPOINTS = {
  '/refresh': (refreshToken: string) => JSON.stringify({ service: 'openid', refreshToken }),
  '/oauth2/openid/token': (refreshToken: string) =>
    new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refreshToken }),
};

/** The provider revokes everything when a refresh token comes twice. */
describe.each(PROXY_NAMES)('behind %s', (name) => {
  test.each(Object.entries(ENDPOINTS))(
    'POST %s that is lost with its relay is an error, and the user stays signed in',
    async (path, bodyOf) => {
      await using stage = await startStage(name);
      const { provider, proxy, tokens } = stage;
      const asked = provider.exchanges();
      const given = provider.grants();
      const held = provider.tokenGate.close();
      const init = { method: 'POST', body: bodyOf(tokens.refreshToken) };
      const answer = proxy.ask(path, init);
      await held.arrived;
      const relay = stage.findAsking();
      // The provider answers, and the relay does not read it any more.
      process.kill(relay.pid, 'SIGSTOP');
      held.release();
      await pollUntil('the provider has given new tokens', () => provider.grants() > given);
      await relay.stop('SIGKILL');
      expect((await answer).status).toBe(502);
      expect(provider.exchanges()).toBe(asked + 1);
      expect(await provider.findOwner(tokens.accessToken)).toBe('Ada');
    },
  );

  const ifThereAreTwo = name === 'nginx' ? test : () => undefined;
  ifThereAreTwo(
    'a refresh goes to the other relay if one does not run: nothing was sent',
    async () => {
      await using stage = await startStage(name, false);
      let { refreshToken } = stage.tokens;
      for (let count = 0; count < 4; count += 1) {
        const body = ENDPOINTS['/refresh'](refreshToken);
        const answer = await stage.proxy.ask('/refresh', { method: 'POST', body });
        expect(answer.status).toBe(200);
        ({ refreshToken } = (await answer.json()) as Tokens);
      }
    },
  );
});
