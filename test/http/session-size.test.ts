/** What a stranger and a provider can make one session keep at most: docs/security.md "What one session can hold". */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { pollOnce, start } from '../kit/device.ts';
import { createTestService, SETTINGS } from '../kit/service.ts';
import { openDurable, sqlOf } from '../kit/stores.ts';
import { callback, createUser } from '../kit/user.ts';

const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
const ENDPOINT = 'https://accounts.provider.test/authorize';
const AUTHORIZATION_URL = `${ENDPOINT}?client_id=c&response_type=code&code_challenge=${CHALLENGE}&code_challenge_method=S256`;
/** Each takes the most bytes that a character can: six in JSON, three in UTF-8. */
const WIDE = '\u0001';
const LONG = '語';

/** The largest record: a token response of 64 KiB, sealed in base64, beside a sealed key. */
const LARGEST_RECORD = 90_000;
/** Where no provider answers. */
const LARGEST_OF_STRANGERS = 35_000;

function createMeasured(fetch = async () => new Response('{}')) {
  const database = new Database(':memory:');
  const sql = sqlOf(database);
  const { stores, time: clock } = openDurable(sql);
  const service = createTestService({
    openEndpoints: [ENDPOINT],
    providers: SETTINGS.providers.map((each) => ({ ...each, pkce: 'S256' as const })),
    startBurst: 100,
    fetch,
    clock,
    stores: { ...stores, findProblem: () => undefined },
  });
  return {
    service,
    /** The size of the only session. */
    recordBytes() {
      const [row] = sql.exec(
        "SELECT octet_length(value) AS bytes FROM kept WHERE name = 'session'",
      );
      return Number(row?.bytes);
    },
  };
}

test('a start: the longest device name and challenge', async () => {
  const { service, recordBytes } = createMeasured();
  const device = LONG.repeat(100);
  await start(service, 'mal', { device, challenge: CHALLENGE, code: true, ack: true });
  expect(recordBytes()).toBeLessThan(2_000);
});

test('an open sign-in: the longest authorization URL', async () => {
  const { service, recordBytes } = createMeasured();
  const authorizationUrl = `${AUTHORIZATION_URL}&scope=`.padEnd(2_000, '%01');
  const body = JSON.stringify({ authorizationUrl, device: LONG.repeat(100), code: true });
  expect((await service.ask('/open', { method: 'POST', body })).status).toBe(200);
  expect(recordBytes()).toBeGreaterThan(2_000);
  expect(recordBytes()).toBeLessThan(6_000);
});

test('a blind sign-in: the longest code that a callback can bring', async () => {
  const { service, recordBytes } = createMeasured();
  const { session, state } = await start(service, 'mal', { challenge: CHALLENGE });
  expect((await callback(service, state, `code=${'%01'.repeat(4_096)}`)).status).toBe(200);
  expect(recordBytes()).toBeGreaterThan(4_096);
  expect(recordBytes()).toBeLessThan(LARGEST_OF_STRANGERS);
  expect(await (await pollOnce(service, session)).json()).toMatchObject({
    code: WIDE.repeat(4_096),
  });
});

test('an open sign-in: the longest callback', async () => {
  const { service, recordBytes } = createMeasured();
  const body = JSON.stringify({ authorizationUrl: AUTHORIZATION_URL });
  const { url } = await (await service.ask('/open', { method: 'POST', body })).json();
  const user = createUser(service);
  await user.decide(url, 'continue');
  const state = new URL(url).searchParams.get('state');
  const returning = `state=${state}&code=`;
  const code = '%01'.repeat(Math.floor((4_096 - returning.length) / 3));
  expect((await user.open(`/open/callback?${returning}${code}`)).status).toBe(200);
  expect(recordBytes()).toBeGreaterThan(6_000);
  expect(recordBytes()).toBeLessThan(LARGEST_OF_STRANGERS);
});

test.each([
  ['the longest access token', 'access_token'],
  ['the longest refresh token', 'refresh_token'],
])('tokens: %s that a provider can send', async (_, name) => {
  const empty = JSON.stringify({ access_token: 'a', refresh_token: 'r', [name]: '' });
  const filled = empty.replace(`"${name}":""`, `"${name}":"${'\\u0001'.repeat(10_900)}"`);
  const { service, recordBytes } = createMeasured(async () => new Response(filled));
  expect(filled.length).toBeLessThanOrEqual(65_536);
  const { session, state } = await start(service, 'mal');
  expect((await callback(service, state)).status).toBe(200);
  expect(recordBytes()).toBeGreaterThan(65_536);
  expect(recordBytes()).toBeLessThan(LARGEST_RECORD);
  expect((await pollOnce(service, session)).status).toBe(200);
});
