import { describe, expect, test } from 'bun:test';
import { DRAIN_HAND_OVER_MS } from '../../src/limits.ts';
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
  test('its device is handed the tokens', async () => {
    const { service, finish } = await createExchanging();
    const drain = watchDrain(service);
    const polled = service.poll(service.session);
    await service.runReady();
    await finish();
    expect((await polled).status).toBe(200);
    service.clock.advance(DRAIN_HAND_OVER_MS);
    await drain.over;
  });

  test('nothing ends before it does, however long it takes, nor before the time to fetch what came of it', async () => {
    const { service, finish } = await createExchanging();
    const drain = watchDrain(service);
    await service.runReady();
    service.clock.advance(10_000);
    await service.runReady();
    expect(drain.isOver()).toBe(false);

    await finish();
    await service.runReady();
    service.clock.advance(DRAIN_HAND_OVER_MS - 1);
    await service.runReady();
    expect(drain.isOver()).toBe(false);
    expect((await service.poll(service.session)).status).toBe(200);

    service.clock.advance(1);
    await drain.over;
  });

  test('other devices may wait, and are answered 204 at the end', async () => {
    const { service, finish } = await createExchanging();
    const { session } = service.other;
    const drain = watchDrain(service);
    const polled = service.poll(session);
    await finish();
    await service.runReady();
    service.clock.advance(DRAIN_HAND_OVER_MS);
    expect((await polled).status).toBe(204);
    await drain.over;
  });

  test('a new code is not taken to the provider: 503, and the link is still good', async () => {
    const { service, finish } = await createExchanging();
    const { state, url } = service.other;
    const drain = watchDrain(service);
    const page = await service.callback(state);
    expect([page.status, await page.text()]).toEqual([
      503,
      expect.stringContaining('Please try again'),
    ]);
    expect(service.exchanges).toHaveLength(1);
    expect((await service.send(url)).status).toBe(302);
    await finish();
    service.clock.advance(DRAIN_HAND_OVER_MS);
    await drain.over;
  });

  test('new codes do not keep it from ending', async () => {
    const { service, finish } = await createExchanging();
    const { state } = service.other;
    const drain = watchDrain(service);
    await finish();
    for (let leftMs = DRAIN_HAND_OVER_MS; leftMs > 0; leftMs -= 100) {
      expect((await service.callback(state)).status).toBe(503);
      service.clock.advance(100);
    }
    await drain.over;
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

function watchDrain({ drain }: { drain(): Promise<void> }) {
  let isOver = false;
  const over = drain().then(() => {
    isOver = true;
  });
  return { over, isOver: () => isOver };
}
