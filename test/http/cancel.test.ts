/** `cancel=1`: a device ends its sign-in, and its user is told so. docs/protocol.md §4.6. */
import { describe, expect, test } from 'bun:test';
import { runReady } from '../kit/clock.ts';
import {
  acknowledge,
  authorizeDevice,
  poll,
  pollOnce,
  pollToken,
  start,
  startWithCode,
  UNKNOWN_SECRET,
} from '../kit/device.ts';
import { createTestService, StoreUnavailable, type TestService } from '../kit/service.ts';
import { callback, createUser, decide, deny, textOf } from '../kit/user.ts';

const GONE = { status: 410, body: 'Session not found\n' };
const NO_CONTENT = { status: 204, body: '' };
const CANCELLED = 'The sign-in was cancelled on the device.';
const SESSION_MS = 600_000;

const cancel = (service: TestService, session: string, more = '') =>
  service.ask(`/auth/result?session=${session}&cancel=1${more}`);

async function answerOf(response: Response) {
  return { status: response.status, body: await response.text() };
}

async function expectCancelledPage(response: Response) {
  expect(response.status).toBe(404);
  expect(response.headers.get('cache-control')).toBe('no-store, private');
  expect(await textOf(response)).toContain(CANCELLED);
}

test('a device cancels with 204, as often as it asks; its polls are answered 410, parked or later', async () => {
  const service = createTestService();
  const { session } = await start(service);
  const parked = [
    poll(service, session),
    service.ask(`/auth/result?session=${session}&progress=1`),
  ];
  await runReady();
  for (const more of ['', '&wait=0', '&progress=1']) {
    expect(await answerOf(await cancel(service, session, more))).toEqual(NO_CONTENT);
  }
  for (const each of parked) expect(await answerOf(await each)).toEqual(GONE);
  expect(await answerOf(await pollOnce(service, session))).toEqual(GONE);
  expect(await answerOf(await poll(service, session))).toEqual(GONE);
  expect(await answerOf(await acknowledge(service, session))).toEqual(GONE);
  expect(service.waiters()).toBe(0);
});

test('unknown, malformed, expired or delivered: 410', async () => {
  const service = createTestService();
  const delivered = await start(service);
  await deny(service, delivered.state);
  await poll(service, delivered.session);
  const expired = await start(service);
  await cancel(service, (await start(service)).session);
  service.clock.advance(SESSION_MS + 1);
  for (const session of [UNKNOWN_SECRET, '', 'x', delivered.session, expired.session]) {
    expect(await answerOf(await cancel(service, session))).toEqual(GONE);
  }
});

test.each(['', '0', 'true', '11'])('cancel=%p cancels nothing', async (value) => {
  const service = createTestService();
  const { session } = await start(service);
  const asked = service.ask(`/auth/result?session=${session}&wait=0&cancel=${value}`);
  expect(await answerOf(await asked)).toEqual(NO_CONTENT);
  expect(await answerOf(await pollOnce(service, session))).toEqual(NO_CONTENT);
});

describe('the user is told that the device cancelled,', () => {
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

  test('by the short link and its code, which count as no wrong code', async () => {
    const service = createTestService();
    const { session, link } = await startWithCode(service);
    await cancel(service, session);
    const peer = '192.0.2.1';
    for (let tries = 0; tries < 30; tries += 1) {
      await expectCancelledPage(await service.ask(link, {}, peer));
    }
    for (const choice of ['continue', 'decline']) {
      await expectCancelledPage(await decide(service, link, choice));
    }
  });

  test('by the code with which they had continued', async () => {
    const service = createTestService();
    const { session, link } = await startWithCode(service);
    const user = createUser(service);
    await user.decide(link, 'continue');
    await cancel(service, session);
    await expectCancelledPage(await user.open(link));
    await expectCancelledPage(await user.decide(link, 'continue'));
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

  test.each(['code=c', 'error=access_denied', ''])(
    'when the provider sends them back with %p: nothing is exchanged',
    async (query) => {
      const service = createTestService();
      const { session, state } = await start(service);
      await cancel(service, session);
      await expectCancelledPage(await callback(service, state, query));
      expect(service.exchanges).toEqual([]);
      expect(await answerOf(await pollOnce(service, session))).toEqual(GONE);
    },
  );

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

test('tokens that wait for their device are dropped', async () => {
  const service = createTestService();
  for (const asked of [{}, { ack: true }]) {
    const { session, state } = await start(service, 'mal', asked);
    await callback(service, state);
    expect(await answerOf(await cancel(service, session))).toEqual(NO_CONTENT);
    expect(await answerOf(await pollOnce(service, session))).toEqual(GONE);
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

test('to a device grant whose device code was cancelled, the code has expired', async () => {
  const service = createTestService();
  const { deviceCode } = await authorizeDevice(service);
  expect(await answerOf(await cancel(service, deviceCode))).toEqual(NO_CONTENT);
  expect((await pollToken(service, deviceCode)).body.error).toBe('expired_token');
});

test('503 while it is not known whether it was carried out, so that the device repeats it', async () => {
  let isAway = true;
  const service = createTestService(
    {},
    {
      beforeVerb(verb) {
        if (verb === 'cancel' && isAway) throw new StoreUnavailable();
      },
    },
  );
  const { session } = await start(service);
  const busy = { status: 503, body: 'Server busy\n' };
  expect(await answerOf(await cancel(service, session))).toEqual(busy);
  isAway = false;
  expect(await answerOf(await cancel(service, session))).toEqual(NO_CONTENT);
});

test('a draining relay still lets a device cancel', async () => {
  const service = createTestService();
  const { session } = await start(service);
  service.drain();
  expect(await answerOf(await cancel(service, session))).toEqual(NO_CONTENT);
});

test('a web app of a listed origin may ask for both', async () => {
  const origin = 'https://app.test';
  const service = createTestService({ corsOrigins: [origin] });
  const { session, url } = await start(service);
  await service.ask(url);
  for (const query of ['progress=1', 'cancel=1']) {
    const asked = await service.ask(`/auth/result?session=${session}&${query}`, {
      headers: { Origin: origin },
    });
    expect(asked.headers.get('access-control-allow-origin')).toBe(origin);
  }
});
