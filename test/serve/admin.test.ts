/** The admin port, /ready and `sign-in-relay health`, as an operator meets them. */
import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { createAdmin } from '../../src/admin/admin.ts';
import { createDisabledService } from '../../src/service.ts';
import { createFakeClock } from '../kit/clock.ts';
import { pollOnce, start, startRequest } from '../kit/device.ts';
import { has } from '../kit/needs.ts';
import { findFreePort } from '../kit/process.ts';
import { serveUpstream, startSilentIssuer, startTokenEndpoint } from '../kit/provider.ts';
import { startRedis } from '../kit/redis/server.ts';
import { type RelayProcess, runRelay, startRelay } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';
import { SETTINGS } from '../kit/service.ts';
import { bringCode, makeCode, startExchanging } from '../kit/user.ts';

const provider = startTokenEndpoint();

describe('the admin port answers', () => {
  const token = plantSecret(randomBytes(24).toString('base64url'));
  const names = ['Relay-1.internal', 'relay.example'];
  const settings = { ...SETTINGS, adminNames: names, adminToken: token };
  const readState = () => createDisabledService().readState();
  const admin = createAdmin(settings, 'Bun 1.4.5', createFakeClock(), readState);
  const ask = (path: string, headers: Record<string, string> = {}) =>
    admin.handle(new Request(`http://127.0.0.1${path}`, { headers }), { requestIP: () => null });
  const basicOf = (user: string, password: string) => `Basic ${btoa(`${user}:${password}`)}`;
  const Authorization = `Bearer ${token}`;

  test('with ADMIN_TOKEN, as Prometheus and browsers send it', async () => {
    const right = [Authorization, `bearer  ${token}`, basicOf('', token), basicOf('me', token)];
    for (const path of ['/metrics', '/', '/now']) {
      for (const given of right) {
        expect((await ask(path, { Authorization: given })).status).toBe(200);
      }
    }
  });

  test('401 to anything else', async () => {
    const wrong = [
      '',
      `Bearer ${token}x`,
      `Bearer ${token.slice(1)}`,
      `Bearer ${token} ${token}`,
      'Bearer ',
      token,
      `Basic ${token}`,
      `Token ${token}`,
      'Basic ',
      'Basic %%%',
      basicOf(token, ''),
      basicOf('operator', `x${token}`),
      `Bearer ${'x'.repeat(8_000)}`,
    ];
    for (const path of ['/metrics', '/', '/now', '/nothing']) {
      for (const [nth, given] of wrong.entries()) {
        const response = await ask(path, { Authorization: given });
        const text = 'Send the ADMIN_TOKEN as a bearer token, or as the password\n';
        expect([nth, response.status, await response.text()]).toEqual([nth, 401, text]);
        expect(response.headers.get('WWW-Authenticate')).toBe('Basic realm="Sign-in Relay"');
      }
    }
  });

  test.each(['/', '/now'])('with a page %s that no other may frame', async (path) => {
    const { headers } = await ask(path, { Authorization });
    expect(headers.get('X-Frame-Options')).toBe('DENY');
    expect(headers.get('Content-Security-Policy')?.split('; ')).toEqual(
      expect.arrayContaining(["default-src 'none'", "frame-ancestors 'none'"]),
    );
  });

  /** DNS rebinding: a page of another domain gives its own name the address of this machine. */
  test.each([
    ['127.0.0.1:9090', 200],
    ['[::1]:9090', 200],
    ['10.1.2.3', 200],
    ['LOCALHOST:9090', 200],
    ['relay-1:9090', 200],
    ['relay-1.INTERNAL:9090', 200],
    ['relay.example', 200],
    ['relay-2.internal', 421],
    ['my-relay.example', 421],
    ['evil.example', 421],
    ['evil.example.', 421],
    ['127.0.0.1.evil.example', 421],
  ])('to addresses, localhost and the names of ADMIN_NAMES: %s gets a %i', async (Host, status) => {
    for (const path of ['/', '/now', '/metrics']) {
      const answer = await ask(path, { Host, Authorization });
      expect([answer.status, (await answer.text()).includes('ADMIN_NAMES')]).toEqual([
        status,
        status === 421,
      ]);
    }
  });
});

test('while a relay drains its metrics are served, and say that it is not ready', async () => {
  const adminPort = await findFreePort();
  const relay = await startRelay({
    ADMIN_PORT: String(adminPort),
    MAL_TOKEN_URL: provider.tokenUrl,
  });
  const { session, page, release } = await startExchanging(relay, provider);
  const stopped = relay.stop();
  await relay.waitForEvent('draining');
  const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  expect(metrics).toContain('\nsign_in_relay_ready 0\n');
  release();
  expect(await page).toBe(200);
  await pollOnce(relay, session);
  expect(await stopped).toBe(0);
});

describe('the admin port', () => {
  test('is off unless it is set', async () => {
    await using relay = await startRelay();
    expect((await relay.ask('/metrics')).status).toBe(404);
    expect(relay.events('admin_listening')).toEqual([]);
  });

  test('is on loopback by default, shows no secret, and serves no route of the relay', async () => {
    const adminPort = await findFreePort();
    await using relay = await startRelay({
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
    const again = await start(relay);
    for (const { state } of [failed, again]) {
      await relay.ask(`/auth/mal/callback?state=${state}&error=invalid_scope`);
    }
    const texts = await Promise.all(
      ['/', '/now', '/metrics'].map(async (path) => (await fetch(`${url}${path}`)).text()),
    );
    const [page = '', , metrics = ''] = texts;
    expect(metrics).toContain('sign_in_relay_sign_ins_delivered_total{provider="mal"} 1');
    const { version, runtime } = await relay.waitForEvent('listening');
    expect(metrics).toContain(`_build_info{version="${version}",runtime="${runtime}"} 1`);
    expect(page).toContain('MyAnimeList refuses the scopes: correct MAL_SCOPE');
    // Failures that repeat are one row.
    expect(page).toMatch(/<td data-column="times"[^>]*>2<\/td>/);
    expect(page.match(/MyAnimeList refuses the scopes/g)?.length).toBe(1);
    expect(page).toContain('<dd id="share">1 of 1</dd>');
    for (const secret of [code, session, state, result.accessToken, failed.state, failed.session]) {
      for (const text of texts) expect(text).not.toContain(secret);
    }
    expect((await fetch(`${url}/metrics`, { method: 'POST' })).status).toBe(405);
    expect((await fetch(`${url}/auth/start`, { method: 'POST' })).status).toBe(404);
    expect((await fetch(`${url}/health`)).status).toBe(404);
  });

  test('a port that is taken is named by its own setting', async () => {
    await using relay = await startRelay();
    const port = await findFreePort();
    const { exitCode, output } = await runRelay({
      OAUTH_BASE_URL: 'http://127.0.0.1',
      MAL_CLIENT_ID: 'id',
      HOST: '127.0.0.1',
      PORT: String(port),
      ADMIN_PORT: String(relay.port),
    });
    expect(output).toContain(`ADMIN_PORT is ${relay.port}: another program listens there already`);
    expect(exitCode).toBe(1);
  });
});

test('a relay without OAUTH_BASE_URL is alive and not ready, and says why', async () => {
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

const onRedis = test.if(has('Redis', '/ready and the admin page say that Redis is unreachable'));

describe('/ready', () => {
  onRedis('503 while Redis is unreachable, and why, which stays on the admin page', async () => {
    await using redis = await startRedis();
    const adminPort = await findFreePort();
    await using relay = await startRelay({ REDIS_URL: redis.url, ADMIN_PORT: String(adminPort) });
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
    // It may explain sign-ins that failed meanwhile.
    const page = await (await fetch(`http://127.0.0.1:${adminPort}/`)).text();
    expect(page).toMatch(/<td[^>]*>store_lost<\/td>/);
    // A share would mislead: another relay may have started the sign-in.
    expect(page).toContain('Only what this relay did');
    expect(page).not.toMatch(/\d+ %\)/);
  });

  test('503 while no issuer has answered, but not because of one of several providers', async () => {
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
    const readyAt = async (relay: RelayProcess) => {
      const response = await relay.ask('/ready');
      return [response.status, await response.text()];
    };
    expect(await readyAt(alone)).toEqual([503, 'discovering: no issuer has answered yet (acme)']);
    expect(await readyAt(among)).toEqual([
      200,
      'ready, but some requests fail: discovering: issuers that cannot be used yet (acme): the log says why (provider_not_discovered)',
    ]);
  });
});

test('`health` needs no setting but where the relay listens', async () => {
  await using relay = await startRelay();
  const env = { HOST: '127.0.0.1', PORT: String(relay.port), MAL_CLIENT_SECRET_FILE: '/none' };
  const health = (more = {}) => runRelay({ ...env, ...more }, { args: ['health'] });
  expect(await health({ LOGO: '/none', CONFIRM: 'perhaps' })).toEqual({
    exitCode: 0,
    output: 'ok\n',
  });
  expect(await health({ PORT: 'none' })).toMatchObject({
    exitCode: 1,
    output: expect.stringContaining('PORT'),
  });
});

test('`health` shows as text whatever answers there', async () => {
  using other = serveUpstream(() => new Response('\x1b]0;title\x07\n\x9b2J', { status: 500 }));
  const { port: PORT } = new URL(other.url);
  expect(await runRelay({ PORT }, { args: ['health'] })).toEqual({
    exitCode: 1,
    output: '<U+001B>]0;title<U+0007> <U+009B>2J\n',
  });
});
