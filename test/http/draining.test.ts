/** A relay that is being stopped, as devices see it (docs/operating.md). How long it waits: test/sign-ins. */
import { expect, test } from 'bun:test';
import { advance, isPending, runReady, runTurns } from '../kit/clock.ts';
import { poll, requestAuthorization, start, startRequest } from '../kit/device.ts';
import { DRAIN_CHECK_MS, DRAIN_DELIVERY_MS } from '../kit/limits.ts';
import { createTestService, MAL, type TestService } from '../kit/service.ts';
import { callback } from '../kit/user.ts';
import { createGate } from '../kit/wait.ts';

/** Starts a drain. */
function startDrain({ drain, clock }: TestService) {
  let isOver = false;
  void drain().then(() => {
    isOver = true;
  });
  return async function isOverAfter(ms: number): Promise<boolean> {
    await advance(clock, ms);
    await runReady();
    return isOver;
  };
}

test('every parked poll gets a 204, starts are refused, and /health is 503', async () => {
  const service = createTestService();
  const { session } = await start(service);
  const polls = [poll(service, session), poll(service, session)];
  await runReady();
  await service.drain();
  expect((await Promise.all(polls)).map(({ status }) => status)).toEqual([204, 204]);
  expect((await service.ask('/auth/start', startRequest())).status).toBe(503);
  expect(await requestAuthorization(service)).toMatchObject({
    status: 503,
    body: { error: 'temporarily_unavailable' },
  });
  expect((await service.ask('/health')).status).toBe(503);
  expect((await poll(service, session)).status).toBe(204);
  // A device that gives up may say so.
  expect((await poll(service, `${session}&cancel=1`)).status).toBe(204);
  expect((await poll(service, session)).status).toBe(410);
});

test('a callback whose lease the store has not answered yet counts as in progress', async () => {
  const lease = createGate();
  const held = lease.close();
  const beforeStore = (verb: string) => verb === 'lease' && lease.pass();
  const service = createTestService({ beforeStore });
  const { session, state } = await start(service);
  const other = await start(service);
  const page = callback(service, state);
  await held.arrived;
  const isOverAfter = startDrain(service);
  const polled = poll(service, other.session);
  // A new code is not exchanged; its link still works.
  const refused = await callback(service, other.state);
  expect(refused.status).toBe(503);
  expect(await refused.text()).toContain('Please try again');
  expect((await service.ask(other.url)).status).toBe(302);
  expect(await isOverAfter(DRAIN_DELIVERY_MS)).toBe(false);
  held.release();
  expect((await page).status).toBe(200);
  expect((await poll(service, session)).status).toBe(200);
  expect(await isOverAfter(DRAIN_CHECK_MS)).toBe(true);
  // Other devices may wait until the end.
  expect((await polled).status).toBe(204);
  expect(service.sent).toHaveLength(1);
});

test.each(['/refresh', '/revoke', '/oauth2/mal/token', '/oauth2/mal/revoke'])(
  'a request to %s that is in progress is finished, and no new one is accepted',
  async (path) => {
    const revocation = { url: 'https://mal.test/revoke' };
    const service = createTestService({ providers: [{ ...MAL, revocation }] });
    const send = (token: string) => {
      const own = { service: 'mal', refreshToken: token };
      const oauth = { grant_type: 'refresh_token', refresh_token: token, token };
      const headers = { 'Content-Type': 'application/json' };
      return service.ask(path, {
        method: 'POST',
        headers,
        body: JSON.stringify({ ...own, ...oauth }),
      });
    };
    const held = service.gate.close();
    const first = send('first');
    await held.arrived;
    const drained = service.drain();
    expect((await send('second')).status).toBe(503);
    await runTurns();
    expect(await isPending(drained)).toBe(true);
    held.release();
    expect((await first).status).toBe(200);
    await drained;
    expect(service.sent).toHaveLength(1);
  },
);
