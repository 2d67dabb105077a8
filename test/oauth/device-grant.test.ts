/** The device grant (RFC 8628, docs/device-grant.md), in what the conformance suite cannot see: exact times, settings, drains. */
import { describe, expect, test } from 'bun:test';
import { isPending, runReady } from '../kit/clock.ts';
import { authorizeDevice, pollToken, requestAuthorization } from '../kit/device.ts';
import { BASE_URL, createTestService, type TestService } from '../kit/service.ts';
import { continueWithCode } from '../kit/user.ts';

/** A device code, and the browser state of its sign-in. */
async function authorize(service: TestService) {
  const authorization = await authorizeDevice(service);
  return { ...authorization, state: await continueWithCode(service, authorization.link) };
}

const errorOf = async (service: TestService, deviceCode: string) =>
  (await pollToken(service, deviceCode)).body.error;

describe('device authorization', () => {
  test('at MAX_SESSIONS, or when the store fails, it is refused for now, as JSON', async () => {
    const full = createTestService({ maxSessions: 1 });
    await authorizeDevice(full);
    const beforeStore = () => Promise.reject(new Error('down'));
    for (const service of [full, createTestService({ beforeStore })]) {
      expect(await requestAuthorization(service)).toMatchObject({
        status: 400,
        body: { error: 'temporarily_unavailable' },
      });
    }
  });
});

const service = createTestService({ baseUrl: `${BASE_URL}/relay` });

test.each([
  ['RFC 8414 §3.1', '/.well-known/oauth-authorization-server/relay/oauth2/mal', 200],
  ['OpenID Connect Discovery §4', '/relay/oauth2/mal/.well-known/openid-configuration', 200],
  // There another issuer would have its own.
  ['RFC 8414 §3.3', '/.well-known/oauth-authorization-server/oauth2/mal', 404],
  ['no such provider', '/.well-known/oauth-authorization-server/relay/oauth2/nobody', 404],
])('metadata under a base path, %s: %s is %d', async (_, path, status) => {
  const answer = await service.ask(path);
  expect(answer.status).toBe(status);
  if (status !== 200) return;
  expect(await answer.json()).toMatchObject({ issuer: `${BASE_URL}/relay/oauth2/mal` });
});

test('RFC 8628 §3.5: no slow_down for two polls an interval, a clock a third too fast', async () => {
  const service = createTestService();
  const { deviceCode, interval, expires_in: seconds } = await authorize(service);
  const pauseMs = Math.ceil(interval * 1_000 * 0.7);
  for (let passedMs = 0; passedMs + pauseMs < seconds * 1_000; passedMs += pauseMs) {
    expect(await errorOf(service, deviceCode)).toBe('authorization_pending');
    expect(await errorOf(service, deviceCode)).toBe('authorization_pending');
    service.clock.advance(pauseMs);
  }
});

describe('RFC 7240 §4.3: Prefer: wait', () => {
  const pollWith = (service: TestService, deviceCode: string, prefer: string) =>
    pollToken(service, deviceCode, {}, { headers: { Prefer: prefer } });

  test.each([
    ['respond-async, wait="30"', 30],
    ['wait=3600', 50],
  ])('%s holds a poll for %d s to the millisecond, then it is pending', async (prefer, seconds) => {
    const service = createTestService();
    const { deviceCode } = await authorize(service);
    const polled = pollWith(service, deviceCode, prefer);
    await runReady();
    service.clock.advance(seconds * 1_000 - 1);
    expect(await isPending(polled)).toBe(true);
    service.clock.advance(1);
    const { body, headers } = await polled;
    expect(body.error).toBe('authorization_pending');
    expect(headers.get('preference-applied')).toBe(`wait=${seconds}`);
  });

  test.each(['wait=-1', 'await=5', 'x="wait=5'])('%s is ignored', async (prefer) => {
    const service = createTestService();
    const { deviceCode } = await authorize(service);
    const { headers } = await pollWith(service, deviceCode, prefer);
    expect(headers.get('preference-applied')).toBeNull();
  });
});
