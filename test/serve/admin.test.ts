/** The admin port, /ready and `sign-in-relay health`, as an operator meets them. */
import { afterAll, describe, expect, test } from 'bun:test';
import { pollOnce, start, startRequest } from '../kit/device.ts';
import { findFreePort } from '../kit/process.ts';
import { startSilentIssuer, startTokenEndpoint } from '../kit/provider.ts';
import { startRedis } from '../kit/redis/server.ts';
import { runRelay, startRelay } from '../kit/relay.ts';
import { bringCode, makeCode } from '../kit/user.ts';

const provider = startTokenEndpoint();
afterAll(provider.stop);

describe('the admin port', () => {
  test('is off unless it is set', async () => {
    const relay = await startRelay();
    expect((await relay.ask('/metrics')).status).toBe(404);
    expect(relay.events('admin_listening')).toEqual([]);
    await relay.stop();
  });

  test("is on loopback by default, shows no secret, and serves none of the relay's routes", async () => {
    const adminPort = await findFreePort();
    const relay = await startRelay({
      HOST: '127.0.0.1',
      ADMIN_PORT: String(adminPort),
      MAL_TOKEN_URL: provider.tokenUrl,
    });
    const { url } = await relay.waitForEvent('admin_listening');
    expect(url).toBe(`http://127.0.0.1:${adminPort}`);
    const code = makeCode();
    const { session, state, url: link } = await start(relay);
    await relay.ask(link);
    await bringCode(relay, state, code);
    const result = (await (await pollOnce(relay, session)).json()) as { accessToken: string };
    const failed = await start(relay);
    await relay.ask(`/auth/mal/callback?state=${failed.state}&error=invalid_scope`);
    const texts = await Promise.all(
      ['/', '/now', '/metrics'].map(async (path) => (await fetch(`${url}${path}`)).text()),
    );
    const [page = '', , metrics = ''] = texts;
    expect(metrics).toContain('sign_in_relay_sign_ins_delivered_total{provider="mal"} 1');
    expect(page).toContain('MyAnimeList refuses the scopes: correct MAL_SCOPE');
    for (const secret of [code, session, state, result.accessToken, failed.state, failed.session]) {
      for (const text of texts) expect(text).not.toContain(secret);
    }
    expect((await fetch(`${url}/metrics`, { method: 'POST' })).status).toBe(405);
    expect((await fetch(`${url}/auth/start`, { method: 'POST' })).status).toBe(404);
    expect((await fetch(`${url}/health`)).status).toBe(404);
    await relay.stop();
  });

  test('answers to a name that is listed, and to no other', async () => {
    const adminPort = await findFreePort();
    const names = { ADMIN_HOST: 'localhost', ADMIN_NAMES: 'Relay-1.internal, relay.example' };
    const relay = await startRelay({ ADMIN_PORT: String(adminPort), ...names });
    const statusFor = async (Host: string) => {
      const url = `http://localhost:${adminPort}/metrics`;
      return (await fetch(url, { headers: { Host } })).status;
    };
    expect(await statusFor(`relay-1.INTERNAL:${adminPort}`)).toBe(200);
    expect(await statusFor('relay.example')).toBe(200);
    expect(await statusFor('relay-2.internal')).toBe(421);
    expect(await statusFor('my-relay.example')).toBe(421);
    await relay.stop();
  });

  test('a port that is taken is named by its own setting', async () => {
    const relay = await startRelay();
    const port = await findFreePort();
    const { exitCode, output } = await runRelay({
      ...{ OAUTH_BASE_URL: 'http://127.0.0.1', MAL_CLIENT_ID: 'id' },
      ...{ HOST: '127.0.0.1', PORT: String(port), ADMIN_PORT: String(relay.port) },
    });
    expect(output).toContain(`ADMIN_PORT is ${relay.port}: another program listens there already`);
    expect(exitCode).toBe(1);
    await relay.stop();
  });
});

test('a relay without OAUTH_BASE_URL is alive and not ready: its admin page, /ready and `health` say why', async () => {
  const adminPort = await findFreePort();
  const relay = await startRelay({ OAUTH_BASE_URL: '', ADMIN_PORT: String(adminPort) });
  const why = 'not configured: OAUTH_BASE_URL is not set';
  expect(await (await fetch(`http://127.0.0.1:${adminPort}/`)).text()).toContain(why);
  expect((await relay.ask('/ready')).status).toBe(503);
  expect((await relay.ask('/health')).status).toBe(200);
  const env = { PORT: String(relay.port) };
  const health = (...options: string[]) => runRelay(env, { args: ['health', ...options] });
  expect(await health()).toEqual({ exitCode: 0, output: 'ok\n' });
  expect(await health('--ready')).toEqual({ exitCode: 1, output: `${why}\n` });
  await relay.stop();
  expect(await health()).toEqual({
    exitCode: 1,
    output: `no relay answers at 127.0.0.1:${relay.port} (ECONNREFUSED)\n`,
  });
});

describe('/ready', () => {
  test('says that the relay is ready, to GET and HEAD only', async () => {
    const relay = await startRelay();
    const response = await relay.ask('/ready');
    expect([response.status, await response.text()]).toEqual([200, 'ready']);
    expect((await relay.ask('/ready', { method: 'HEAD' })).status).toBe(200);
    expect((await relay.ask('/ready', { method: 'POST' })).status).toBe(405);
    await relay.stop();
  });

  test('503 while Redis is unreachable, and why', async () => {
    await using redis = await startRedis();
    const relay = await startRelay({ REDIS_URL: redis.url });
    expect((await relay.ask('/ready')).status).toBe(200);
    await redis.freeze();
    await relay.waitForEvent('store_lost');
    const response = await relay.ask('/ready');
    const problem = 'the server does not answer';
    const text = `store: Redis is unreachable: ${problem}`;
    expect([response.status, await response.text()]).toEqual([503, text]);
    expect(relay.events('store_lost')).toMatchObject([{ problem }]);
    expect((await relay.ask('/health')).status).toBe(200);
    redis.thaw();
    await relay.waitForEvent('store_back');
    expect((await relay.ask('/ready')).status).toBe(200);
    await relay.stop();
  });

  test('503 while no issuer has answered, but not because of one of several providers; it listens for all that', async () => {
    using issuer = startSilentIssuer();
    const env = { PROVIDERS: 'acme,mal', ACME_CLIENT_ID: 'id', ACME_ISSUER: issuer.issuer };
    const relays = await Promise.all([startRelay({ ...env, MAL_CLIENT_ID: '' }), startRelay(env)]);
    const [alone, among] = relays;
    for (const relay of relays) {
      const events = relay.events().map(({ event }) => event);
      expect(events.indexOf('listening')).toBe(events.indexOf('provider_not_discovered') + 1);
      const refused = await relay.ask('/auth/start', startRequest('acme'));
      expect([refused.status, await refused.text()]).toEqual([503, 'Server busy\n']);
    }
    const response = await alone.ask('/ready');
    expect([response.status, await response.text()]).toEqual([
      503,
      'discovering: no issuer has answered yet (acme)',
    ]);
    expect((await among.ask('/ready')).status).toBe(200);
    await Promise.all(relays.map((relay) => relay.stop()));
  });
});

test('`health` shows as text whatever answers there', async () => {
  using other = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () => new Response('\x1b]0;title\x07\n\x9b2J', { status: 500 }),
  });
  expect(await runRelay({ PORT: String(other.port) }, { args: ['health'] })).toEqual({
    exitCode: 1,
    output: '<U+001B>]0;title<U+0007> <U+009B>2J\n',
  });
});
