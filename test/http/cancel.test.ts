/** `cancel=1`: a device ends its sign-in (docs/protocol.md §4.6), in what the conformance suite cannot see. */
import { expect, test } from 'bun:test';
import { start } from '../kit/device.ts';
import { createTestService, type TestService } from '../kit/service.ts';
import { callback, createUser, textOf } from '../kit/user.ts';

const NO_CONTENT = { status: 204, body: '' };
const CANCELLED = 'The sign-in was cancelled on the device.';

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

test('the user sees that the device cancelled, by the pages of CONFIRM=always', async () => {
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

test('a device can still cancel at a draining relay', async () => {
  const service = createTestService();
  const { session } = await start(service);
  service.drain();
  expect(await answerOf(await cancel(service, session))).toEqual(NO_CONTENT);
});
