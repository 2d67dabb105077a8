/** A relay that is being stopped: it starts nothing new, finishes what is under way, and then ends (docs/operating.md). */
import { describe, expect, test } from 'bun:test';
import { runReady } from '../kit/clock.ts';
import { poll, start, startRequest } from '../kit/device.ts';
import { DRAIN_CHECK_MS, DRAIN_DELIVERY_MS } from '../kit/limits.ts';
import { createTestService, type TestService } from '../kit/service.ts';
import { callback, deny } from '../kit/user.ts';
import { createGate } from '../kit/wait.ts';

/** Starts a drain, and lets time pass in the steps in which it checks. */
function startDrain({ drain, clock }: TestService) {
  let isOver = false;
  void drain().then(() => {
    isOver = true;
  });
  return async function isOverAfter(ms: number): Promise<boolean> {
    await runReady();
    for (let leftMs = ms; leftMs > 0; leftMs -= DRAIN_CHECK_MS) {
      clock.advance(Math.min(leftMs, DRAIN_CHECK_MS));
      await runReady();
    }
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
  expect((await service.ask('/health')).status).toBe(503);
  expect((await poll(service, session)).status).toBe(204);
});

describe('while an exchange is under way', () => {
  /** A service with one code at the provider, which answers on `finish`, and another session. */
  async function createExchanging() {
    const provider = Promise.withResolvers<Response>();
    const service = createTestService({}, { fetch: () => provider.promise });
    const { session, state } = await start(service);
    const other = await start(service);
    const page = callback(service, state);
    await runReady();
    expect(service.exchanges).toHaveLength(1);
    async function finish(): Promise<void> {
      provider.resolve(Response.json({ access_token: 'granted' }));
      expect((await page).status).toBe(200);
      await runReady();
    }
    return { service, session, other, finish };
  }

  test('the drain waits for it, however long it takes, and then for its device alone', async () => {
    const { service, session, finish } = await createExchanging();
    const isOverAfter = startDrain(service);
    const polled = poll(service, session);
    expect(await isOverAfter(10_000)).toBe(false);
    await finish();
    expect((await polled).status).toBe(200);
    expect(await isOverAfter(DRAIN_CHECK_MS)).toBe(true);
  });

  test('other devices may wait, and get a 204 at the end', async () => {
    const { service, other, finish } = await createExchanging();
    const isOverAfter = startDrain(service);
    const polled = poll(service, other.session);
    await finish();
    expect(await isOverAfter(DRAIN_DELIVERY_MS)).toBe(true);
    expect((await polled).status).toBe(204);
  });

  test('a new code is not exchanged and does not prolong the drain; its link still works', async () => {
    const { service, other, finish } = await createExchanging();
    const isOverAfter = startDrain(service);
    const page = await callback(service, other.state);
    expect([page.status, await page.text()]).toEqual([
      503,
      expect.stringContaining('Please try again'),
    ]);
    expect((await service.ask(other.url)).status).toBe(302);
    await finish();
    let isOver = false;
    for (let leftMs = DRAIN_DELIVERY_MS; leftMs > 0; leftMs -= DRAIN_CHECK_MS) {
      expect((await callback(service, other.state)).status).toBe(503);
      isOver = await isOverAfter(DRAIN_CHECK_MS);
    }
    expect(isOver).toBe(true);
    expect(service.exchanges).toHaveLength(1);
  });

  test('a callback whose lease the store has not answered yet counts as under way', async () => {
    const lease = createGate();
    const held = lease.close();
    const beforeStore = (verb: string) => verb === 'lease' && lease.pass();
    const service = createTestService({}, { beforeStore });
    const { session, state } = await start(service);
    const page = callback(service, state);
    await held.arrived;
    const isOverAfter = startDrain(service);
    expect(await isOverAfter(DRAIN_DELIVERY_MS)).toBe(false);
    held.release();
    expect((await page).status).toBe(200);
    expect((await poll(service, session)).status).toBe(200);
    expect(await isOverAfter(DRAIN_CHECK_MS)).toBe(true);
  });
});

describe('results that no device has fetched yet, and that only this process has', () => {
  test('the drain waits for tokens, also those from before: a device may poll every 5 s', async () => {
    const service = createTestService();
    const { session, state } = await start(service);
    await callback(service, state);
    const isOverAfter = startDrain(service);
    expect(await isOverAfter(5_000)).toBe(false);
    expect((await poll(service, session)).status).toBe(200);
    expect(await isOverAfter(DRAIN_CHECK_MS)).toBe(true);
  });

  test('but no longer than DRAIN_DELIVERY_MS', async () => {
    const service = createTestService();
    await callback(service, (await start(service)).state);
    const isOverAfter = startDrain(service);
    expect(await isOverAfter(DRAIN_DELIVERY_MS - DRAIN_CHECK_MS)).toBe(false);
    expect(await isOverAfter(DRAIN_CHECK_MS)).toBe(true);
  });

  test('it does not wait for errors: the device has to start again anyway', async () => {
    const service = createTestService();
    await deny(service, (await start(service)).state);
    expect(await startDrain(service)(0)).toBe(true);
  });
});
