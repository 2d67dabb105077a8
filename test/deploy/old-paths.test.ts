/** The lines of docs/migrating.md that keep apps of Device-Flow-Proxy-Server working, in proxies that are real. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { DEVICE_CODE_GRANT } from '../kit/device.ts';
import { findFreePort } from '../kit/process.ts';
import { startTokenEndpoint, tokensFor } from '../kit/provider.ts';
import { startProxy } from '../kit/proxies.ts';
import { ROOT, startRelay } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';
import { bringCode, continueWithCode, makeCode } from '../kit/user.ts';

const page = readFileSync(`${ROOT}docs/migrating.md`, 'utf8');
const linesFor = (language: string) =>
  new RegExp(`\`\`\`${language}\n(.+?)\`\`\``, 's').exec(page)?.[1] ?? '';

const provider = startTokenEndpoint();

/** The values of its README. */
const CLIENT = { client_id: '1234567890', client_secret: 'of-the-app', scope: 'profile' };

test.each([
  ['nginx', linesFor('nginx')],
  ['Caddy', linesFor('caddyfile')],
] as const)('behind %s an app gets tokens by the old addresses', async (name, directives) => {
  const port = await findFreePort();
  const baseUrl = `https://127.0.0.1:${port}`;
  await using relay = await startRelay({
    OAUTH_BASE_URL: baseUrl,
    TRUSTED_PROXY_CIDRS: '127.0.0.1',
    MAL_TOKEN_URL: provider.tokenUrl,
  });
  await using proxy = await startProxy(name, [relay.port], { port, directives });
  async function post(path: string, form: Record<string, string>) {
    const response = await proxy.ask(path, { method: 'POST', body: new URLSearchParams(form) });
    const { status } = response;
    return { status, body: (await response.json()) as Record<string, string> };
  }

  const { status, body } = await post('/device/code', CLIENT);
  const { device_code = '', user_code = '', verification_uri } = body;
  plantSecret(device_code);
  expect([status, verification_uri]).toEqual([200, `${baseUrl}/link`]);
  const poll = { grant_type: DEVICE_CODE_GRANT, client_id: CLIENT.client_id, device_code };
  expect(await post('/device/token', poll)).toMatchObject({
    status: 400,
    body: { error: 'authorization_pending' },
  });

  // The page for the code, and the address of a QR code.
  expect((await proxy.ask('/device')).headers.get('location')).toMatch(/\/link\??$/);
  const form = await proxy.ask(`/device?code=${user_code}`);
  const typed = new URL(form.headers.get('location') ?? '', baseUrl);
  const confirmation = await proxy.ask(typed.pathname + typed.search);
  const { pathname } = new URL(confirmation.headers.get('location') ?? '', baseUrl);
  const code = makeCode();
  const state = await continueWithCode(proxy, pathname);
  expect((await bringCode(proxy, state, code)).status).toBe(200);
  expect(await post('/device/token', poll)).toMatchObject({
    status: 200,
    body: { access_token: tokensFor(code).accessToken, token_type: 'Bearer' },
  });
});
