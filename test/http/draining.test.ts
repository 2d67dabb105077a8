import { describe, expect, test } from 'bun:test';
import { DRAIN_DELIVERY_MS, DRAIN_LOOK_MS } from '../../src/limits.ts';
import { createGate } from '../support/gate.ts';
import { createTestService, startOf } from '../support/test-service.ts';

test('every parked poll is answered 204, starts are refused, /health says so', async () => {
  const { start, poll, drain, send, runReady } = createTestService();
  const { session } = await start();
  const polls = [poll(session), poll(session)];
  await runReady();
  await drain();
  expect((await Promise.all(polls)).map(({ status }) => status)).toEqual([204, 204]);
  expect((await send('/auth/start', startOf('mal'))).status).toBe(503);
  expect((await send('/health')).status).toBe(503);
  expect((await poll(session)).status).toBe(204);
});

describe('while an exchange is under way', () => {
  test('its device is handed the tokens, and nothing is waited for after that', async () => {
    const { service, finish } = await createExchanging();
    const drain = watchDrain(service);
    const polled = service.poll(service.session);
    await service.runReady();
    await finish();
    expect((await polled).status).toBe(200);
    await drain.pass(DRAIN_LOOK_MS);
    expect(drain.isOver()).toBe(true);
  });

  test('nothing ends before it does, however long it takes', async () => {
    const { service, finish } = await createExchanging();
    const drain = watchDrain(service);
    await drain.pass(10_000);
    expect(drain.isOver()).toBe(false);
    await finish();
    await service.poll(service.session);
    await drain.pass(DRAIN_LOOK_MS);
    expect(drain.isOver()).toBe(true);
  });

  test('other devices may wait, and are answered 204 at the end', async () => {
    const { service, finish } = await createExchanging();
    const { session } = service.other;
    const drain = watchDrain(service);
    const polled = service.poll(session);
    await finish();
    await drain.pass(DRAIN_DELIVERY_MS);
    expect((await polled).status).toBe(204);
    expect(drain.isOver()).toBe(true);
  });

  test('a new code is not taken to the provider: 503, and the link is still good', async () => {
    const { service } = await createExchanging();
    const { state, url } = service.other;
    watchDrain(service);
    const page = await service.callback(state);
    expect([page.status, await page.text()]).toEqual([
      503,
      expect.stringContaining('Please try again'),
    ]);
    expect(service.exchanges).toHaveLength(1);
    expect((await service.send(url)).status).toBe(302);
  });

  test('new codes do not keep it from ending', async () => {
    const { service, finish } = await createExchanging();
    const { state } = service.other;
    const drain = watchDrain(service);
    await finish();
    for (let leftMs = DRAIN_DELIVERY_MS; leftMs > 0; leftMs -= DRAIN_LOOK_MS) {
      expect((await service.callback(state)).status).toBe(503);
      await drain.pass(DRAIN_LOOK_MS);
    }
    expect(drain.isOver()).toBe(true);
  });
});

describe('a callback whose lease the store has not answered yet', () => {
  test('is under way too: the drain waits for its exchange', async () => {
    const lease = createGate();
    const held = lease.close();
    const service = createTestService({}, undefined, {
      changeStore: (store) => ({
        ...store,
        lease: async (...asked) => {
          await lease.pass();
          return store.lease(...asked);
        },
      }),
    });
    const { session, state } = await service.start();
    const page = service.callback(state);
    await held.arrived;
    const drain = watchDrain(service);
    await drain.pass(DRAIN_DELIVERY_MS);
    expect(drain.isOver()).toBe(false);
    held.release();
    expect((await page).status).toBe(200);
    expect((await service.poll(session)).status).toBe(200);
    await drain.pass(DRAIN_LOOK_MS);
    expect(drain.isOver()).toBe(true);
  });
});

describe('tokens that nobody has fetched yet, and that are in this process alone', () => {
  test('are waited for, though they came before the drain: a device may poll every 5 s', async () => {
    const service = createTestService();
    const { session, state } = await service.start();
    await service.callback(state);
    const drain = watchDrain(service);
    await drain.pass(5_000);
    expect(drain.isOver()).toBe(false);
    expect((await service.poll(session)).status).toBe(200);
    await drain.pass(DRAIN_LOOK_MS);
    expect(drain.isOver()).toBe(true);
  });

  test('are not waited for longer than that', async () => {
    const service = createTestService();
    await service.callback((await service.start()).state);
    const drain = watchDrain(service);
    await drain.pass(DRAIN_DELIVERY_MS - DRAIN_LOOK_MS);
    expect(drain.isOver()).toBe(false);
    await drain.pass(DRAIN_LOOK_MS);
    expect(drain.isOver()).toBe(true);
  });

  test('are not an error that nobody has fetched: its device starts again either way', async () => {
    const service = createTestService();
    await service.callback((await service.start()).state, 'error=access_denied');
    const drain = watchDrain(service);
    await drain.pass(0);
    expect(drain.isOver()).toBe(true);
  });
});

/** A service with one code at a provider that answers on `finish`, and another session beside it. */
async function createExchanging() {
  const provider = Promise.withResolvers<Response>();
  const service = createTestService({}, () => provider.promise);
  const { session, state } = await service.start();
  const other = await service.start();
  const page = service.callback(state);
  await service.runReady();
  expect(service.exchanges).toHaveLength(1);
  async function finish(): Promise<void> {
    provider.resolve(Response.json({ access_token: 'granted' }));
    expect((await page).status).toBe(200);
    await service.runReady();
  }
  return { service: { ...service, session, other }, finish };
}

function watchDrain({ drain, clock, runReady }: ReturnType<typeof createTestService>) {
  let isOver = false;
  const over = drain().then(() => {
    isOver = true;
  });
  return {
    over,
    isOver: () => isOver,
    /** Lets time pass, in the steps in which the drain looks. */
    async pass(ms: number): Promise<void> {
      await runReady();
      for (let leftMs = ms; leftMs > 0; leftMs -= DRAIN_LOOK_MS) {
        clock.advance(Math.min(leftMs, DRAIN_LOOK_MS));
        await runReady();
      }
    },
  };
}
