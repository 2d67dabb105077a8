import { describe, expect, test } from 'bun:test';
import { createTestService } from '../support/test-service.ts';

describe('waiting', () => {
  test('§4: a poll is answered the moment the sign-in completes, with no time passing', async () => {
    const { start, poll, callback } = createTestService();
    const { session, state } = await start();
    const polled = poll(session);
    expect((await callback(state)).status).toBe(200);
    const response = await polled;
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ accessToken: 'granted', expiresIn: 3_600 });
  });

  test('§8: without a completion a poll is held 50 s to the millisecond, then answered 204', async () => {
    const { start, poll, clock, runReady } = createTestService();
    const { session } = await start();
    let status = 0;
    const polled = poll(session).then((response) => {
      status = response.status;
    });
    await runReady();
    clock.advance(49_999);
    await runReady();
    expect(status).toBe(0);
    clock.advance(1);
    await polled;
    expect(status).toBe(204);
  });

  test('a poll whose device has left claims nothing, whenever it left', async () => {
    const { start, poll, callback, runReady } = createTestService();
    for (const leaves of ['before', 'while waiting', 'just before the completion'] as const) {
      const { session, state } = await start();
      const device = new AbortController();
      if (leaves === 'before') device.abort();
      const polled = poll(session, { signal: device.signal });
      if (leaves === 'while waiting') await runReady();
      device.abort();
      await callback(state);
      expect((await polled).status).toBe(204);
      expect((await poll(session)).status).toBe(200);
    }
  });

  test('rule 4: of twenty polls parked on one session one gets the tokens, the others 410', async () => {
    const { start, poll, callback, runReady } = createTestService();
    const { session, state } = await start();
    const polls = Array.from({ length: 20 }, () => poll(session));
    await runReady();
    await callback(state);
    const statuses = (await Promise.all(polls)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 410)).toHaveLength(19);
  });

  test('a poll held when its session expires is told 204, and the next one 410', async () => {
    const { start, poll, clock, runReady } = createTestService();
    const { session } = await start();
    clock.advance(580_000);
    const polled = poll(session);
    await runReady();
    clock.advance(50_000);
    expect((await polled).status).toBe(204);
    expect((await poll(session)).status).toBe(410);
  });
});

describe('lifetime', () => {
  test('§8: link, poll and callback are good at 600 s and gone a millisecond later', async () => {
    const { start, poll, send, callback, clock } = createTestService();
    const fetched = await start();
    const lost = await start();
    const { url, state } = await start();
    await callback(fetched.state);
    await callback(lost.state);
    clock.advance(600_000);
    expect((await send(url)).status).toBe(302);
    expect((await poll(fetched.session)).status).toBe(200);
    clock.advance(1);
    expect((await send(url)).status).toBe(404);
    expect((await callback(state)).status).toBe(404);
    expect((await poll(lost.session)).status).toBe(410);
  });
});
