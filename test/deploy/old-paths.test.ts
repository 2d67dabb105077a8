/** The lines of docs/migrating.md that keep apps of Device-Flow-Proxy-Server working, in proxies that are real. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { findFreePort } from '../kit/process.ts';
import { startTokenEndpoint, tokensFor } from '../kit/provider.ts';
import { startProxy } from '../kit/proxies.ts';
import { ROOT, startRelay } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';
import { bringCode, continueWithCode, deny, makeCode } from '../kit/user.ts';

setDefaultTimeout(60_000);

const page = readFileSync(`${ROOT}docs/migrating.md`, 'utf8');
const snippetIn = (language: string) =>
  new RegExp(`\`\`\`${language}\n(.+?)\`\`\``, 's').exec(page)?.[1] ?? '';

const PROXIES = [
  ['nginx', snippetIn('nginx')],
  ['Caddy', snippetIn('caddyfile')],
] as const;

/** As its README has them. */
const CLIENT = { client_id: '1234567890', client_secret: 'of-the-app', scope: 'profile' };
const GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

interface DeviceCode {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly expires_in: number;
  readonly interval: number;
}

describe.each(PROXIES)('behind %s', async (name, directives) => {
  const provider = startTokenEndpoint();
  const port = await findFreePort();
  const baseUrl = `https://127.0.0.1:${port}`;
  const relay = await startRelay({
    OAUTH_BASE_URL: baseUrl,
    TRUSTED_PROXY_CIDRS: '127.0.0.1',
    MAL_TOKEN_URL: provider.tokenUrl,
    START_BURST: '20',
  });
  const proxy = await startProxy(name, [relay.port], { port, directives });
  afterAll(async () => {
    await proxy.stop();
    await relay.stop('SIGKILL');
    provider.stop();
  });

  const post = (path: string, form: Record<string, string>) =>
    proxy.ask(path, { method: 'POST', body: new URLSearchParams(form) });

  async function start(): Promise<DeviceCode> {
    const response = await post('/device/code', CLIENT);
    expect(response.status).toBe(200);
    const started = (await response.json()) as DeviceCode;
    plantSecret(started.device_code);
    return started;
  }

  const poll = ({ device_code }: DeviceCode) =>
    post('/device/token', { grant_type: GRANT, client_id: CLIENT.client_id, device_code });

  /** Follows redirects to the confirmation page, as a browser does, and returns its path. */
  async function open(address: string): Promise<string> {
    const { pathname, search } = new URL(address, baseUrl);
    const response = await proxy.ask(pathname + search);
    const location = response.headers.get('location');
    return location === null ? pathname : open(location);
  }

  test('a start has what the old server answered', async () => {
    expect(await start()).toMatchObject({
      device_code: expect.any(String),
      user_code: expect.stringMatching(/^[A-Z]{4}-[A-Z]{4}$/),
      verification_uri: `${baseUrl}/link`,
      expires_in: expect.any(Number),
      interval: 5,
    });
  });

  test.each([
    ['the old address of a QR code', '/device?code='],
    ['the address of the response', '/link?code='],
  ])('a user comes by %s, and the app gets the tokens', async (_, path) => {
    const started = await start();
    const pending = await poll(started);
    expect(pending.status).toBe(400);
    expect(await pending.json()).toMatchObject({ error: 'authorization_pending' });
    const confirmation = await open(path + started.user_code);
    expect(confirmation).toContain('/L/');
    const code = makeCode();
    const state = await continueWithCode(proxy, confirmation);
    expect((await bringCode(proxy, state, code)).status).toBe(200);
    const response = await poll(started);
    expect(response.status).toBe(200);
    const { access_token, token_type } = (await response.json()) as Record<string, string>;
    expect({ access_token, token_type }).toEqual({
      access_token: tokensFor(code).accessToken,
      token_type: 'Bearer',
    });
  });

  test('a user who types the code finds the form', async () => {
    const form = await open('/device');
    expect(form).toBe('/link');
  });

  test('the app is told that the user declined', async () => {
    const started = await start();
    await deny(
      proxy,
      await continueWithCode(proxy, await open(`/device?code=${started.user_code}`)),
    );
    const response = await poll(started);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: 'access_denied' });
  });
});
