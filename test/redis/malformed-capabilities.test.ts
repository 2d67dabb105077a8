/** Strings that cannot be a capability are refused before the store is asked, at every endpoint that takes one. */
import { afterAll, expect, test } from 'bun:test';
import { startLocalRelay } from '../support/local-relay.ts';
import { startCuttingProxy } from '../support/redis/cutting-proxy.ts';
import { startRedis } from '../support/redis/start-redis.ts';
import { UNKNOWN_SECRET } from '../support/wire.ts';

const redis = await startRedis();
const proxy = await startCuttingProxy(redis.port);
const env = { REDIS_URL: proxy.url, MAL_CLIENT_ID: 'mal-client' };
const [relay, asking] = await Promise.all([
  startLocalRelay(env),
  startLocalRelay({ ...env, CONFIRM: 'always' }),
]);
afterAll(async () => {
  await Promise.all([relay.stop(), asking.stop()]);
  await proxy.stop();
  await redis.stop();
});

const MALFORMED = [
  '',
  'unknown',
  'A'.repeat(23),
  'A'.repeat(25),
  `${'A'.repeat(23)}+`,
  `${'A'.repeat(24)}\n`,
  `${'A'.repeat(23)}é`,
  'A'.repeat(8_000),
];

type Ask = (capability: string) => Promise<Response>;

const get = (path: string, base = relay.baseUrl) => fetch(base + path, { redirect: 'manual' });
const post = (path: string, form: Record<string, string>, base = relay.baseUrl) =>
  fetch(base + path, {
    method: 'POST',
    body: new URLSearchParams(form),
    headers: { 'Sec-Fetch-Site': 'same-origin' },
    redirect: 'manual',
  });

const DEVICE_CODE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

const ENDPOINTS: [string, Ask, status: number][] = [
  ['a poll', (secret) => get(`/auth/result?session=${secret}`), 410],
  ['a poll that is not held', (secret) => get(`/auth/result?session=${secret}&wait=0`), 410],
  ['an acknowledgement', (secret) => get(`/auth/result?session=${secret}&ack=1`), 410],
  ['the link', (state) => get(`/auth/mal?state=${state}`), 404],
  ['a callback with a code', (state) => get(`/auth/mal/callback?state=${state}&code=c`), 404],
  ['a callback with an error', (state) => get(`/auth/mal/callback?state=${state}&error=e`), 404],
  ['a callback with neither', (state) => get(`/auth/mal/callback?state=${state}`), 404],
  ['a link that asks first', (state) => get(`/auth/mal?state=${state}`, asking.baseUrl), 404],
  [
    'Continue on a link',
    (state) => post(`/auth/mal?state=${state}`, { choice: 'continue' }, asking.baseUrl),
    404,
  ],
  [
    'Decline on a link',
    (state) => post(`/auth/mal?state=${state}`, { choice: 'decline' }, asking.baseUrl),
    404,
  ],
  ['a picture of the link', (state) => get(`/qr/${state}.svg`), 404],
  [
    'a poll of the device grant',
    (code) => post('/oauth2/mal/token', { grant_type: DEVICE_CODE_GRANT, device_code: code }),
    400,
  ],
];

/** What was sent to Redis for sessions; heartbeats are something else. */
async function sessionCommandsOf(ask: () => Promise<void>): Promise<number> {
  proxy.resetTraffic();
  await ask();
  const { commands } = proxy.traffic();
  return ['EVALSHA', 'EVAL', 'GET'].reduce((sum, name) => sum + (commands.get(name) ?? 0), 0);
}

test.each(ENDPOINTS)(
  '%s with a malformed capability asks the store nothing',
  async (_, ask, status) => {
    const asked = await sessionCommandsOf(async () => {
      for (const capability of MALFORMED) {
        expect((await ask(encodeURIComponent(capability))).status).toBe(status);
      }
    });
    expect(asked).toBe(0);
  },
);

test.each(ENDPOINTS)('%s with a well-formed one does', async (_, ask, status) => {
  const asked = await sessionCommandsOf(async () => {
    expect((await ask(UNKNOWN_SECRET)).status).toBe(status);
  });
  expect(asked).toBeGreaterThan(0);
});
