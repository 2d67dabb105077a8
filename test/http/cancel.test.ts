/** `cancel=1`: a device ends its sign-in, and the user sees that. docs/protocol.md §4.6. */
import { describe, expect, test } from 'bun:test';
import { runReady } from '../kit/clock.ts';
import { authorizeDevice, poll, pollOnce, pollToken, start, startWithCode } from '../kit/device.ts';
import { createTestService, type TestService } from '../kit/service.ts';
import { callback, createUser, textOf } from '../kit/user.ts';

const GONE = { status: 410, body: 'Session not found\n' };
const NO_CONTENT = { status: 204, body: '' };
const CANCELLED = 'The sign-in was cancelled on the device.';
const SESSION_MS = 600_000;

const cancel = (service: TestService, session: string) =>
  service.ask(`/auth/result?session=${session}&cancel=1`);

async function answerOf(response: Response) {
  return { status: response.status, body: await response.text() };
}

async function expectCancelledPage(response: Response) {
  expect(response.status).toBe(404);
  expect(response.headers.get('cache-control')).toBe('no-store, private');
  expect(await textOf(response)).toContain(CANCELLED);
}

describe('the user sees that the device cancelled,', () => {
  test('by the link, until the session expires; after it the link is no longer valid', async () => {
    const service = createTestService();
    const { session, url } = await start(service);
    await cancel(service, session);
    await expectCancelledPage(await service.ask(url));
    service.clock.advance(SESSION_MS);
    await expectCancelledPage(await service.ask(url));
    service.clock.advance(1);
    expect(await textOf(await service.ask(url))).toContain('no longer valid');
  });

  test('by the short link and its code, also to a user who had continued, and no try counts as a wrong code', async () => {
    const service = createTestService();
    const { session, link } = await startWithCode(service);
    const user = createUser(service, '192.0.2.1');
    await user.decide(link, 'continue');
    await cancel(service, session);
    for (let tries = 0; tries < 30; tries += 1) await expectCancelledPage(await user.open(link));
    for (const choice of ['continue', 'decline']) {
      await expectCancelledPage(await user.decide(link, choice));
    }
  });

  test('by the pages of CONFIRM=always', async () => {
    const service = createTestService({ confirm: 'always' });
    const { session, state, url } = await start(service);
    const user = createUser(service);
    await user.decide(url, 'continue');
    await cancel(service, session);
    await expectCancelledPage(await user.open(url));
    await expectCancelledPage(await user.decide(url, 'continue'));
    await expectCancelledPage(await user.decide(url, 'decline'));
    await expectCancelledPage(await user.comeBack(state));
    expect(service.exchanges).toEqual([]);
  });

  test('when the device cancelled during the exchange: its tokens are dropped', async () => {
    const { promise, resolve } = Promise.withResolvers<Response>();
    const service = createTestService({}, { fetch: () => promise });
    const { session, state } = await start(service);
    const callingBack = callback(service, state);
    await runReady();
    expect(await answerOf(await cancel(service, session))).toEqual(NO_CONTENT);
    resolve(Response.json({ access_token: 'too late' }));
    await expectCancelledPage(await callingBack);
    expect(await answerOf(await pollOnce(service, session))).toEqual(GONE);
  });
});

test('tokens that wait for their device are dropped, and the relay may end', async () => {
  const service = createTestService();
  for (const asked of [{}, { ack: true }]) {
    const { session, state } = await start(service, 'mal', asked);
    await callback(service, state);
    expect(service.store.hasUndelivered()).toBe(true);
    expect((await cancel(service, session)).status).toBe(204);
    expect(service.store.hasUndelivered()).toBe(false);
  }
});

test('tokens that were delivered and not acknowledged stay for their device', async () => {
  const service = createTestService();
  const { session, state } = await start(service, 'mal', { ack: true });
  await callback(service, state);
  await poll(service, session);
  expect(await answerOf(await cancel(service, session))).toEqual(GONE);
  expect((await poll(service, session)).status).toBe(200);
});

test('a device code that was cancelled gets expired_token', async () => {
  const service = createTestService();
  const { deviceCode } = await authorizeDevice(service);
  expect(await answerOf(await cancel(service, deviceCode))).toEqual(NO_CONTENT);
  expect((await pollToken(service, deviceCode)).body.error).toBe('expired_token');
});

test('a device can still cancel at a draining relay', async () => {
  const service = createTestService();
  const { session } = await start(service);
  service.drain();
  expect(await answerOf(await cancel(service, session))).toEqual(NO_CONTENT);
});
