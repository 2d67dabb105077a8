import { describe, expect, test } from 'bun:test';
import { START_BODY_DEADLINE_MS } from '../../src/limits.ts';
import { createTestService, startOf } from '../support/test-service.ts';

describe('limits', () => {
  test('§8: burst 3, then one a second for each address; 429 says when to come again', async () => {
    const { send, clock } = createTestService();
    const statuses = [];
    for (let count = 0; count < 4; count += 1) {
      statuses.push((await send('/auth/start', startOf('mal'))).status);
    }
    expect(statuses).toEqual([200, 200, 200, 429]);
    const refused = await send('/auth/start', startOf('mal'));
    expect(refused.headers.get('retry-after')).toBe('1');
    expect((await send('/auth/start', startOf('mal'), '192.0.2.2')).status).toBe(200);
    clock.advance(1_000);
    expect((await send('/auth/start', startOf('mal'))).status).toBe(200);
  });

  test('ten thousand addresses of one IPv6 /64 are one client', async () => {
    const { send } = createTestService();
    let accepted = 0;
    for (let index = 0; index < 10_000; index += 1) {
      const peer = `2001:db8:0:1::${index.toString(16)}`;
      if ((await send('/auth/start', startOf('mal'), peer)).status === 200) accepted += 1;
    }
    expect(accepted).toBe(3);
  });

  test('nine addresses that flood for ten minutes fill the cap, and it holds at 5000', async () => {
    const { send, clock } = createTestService();
    const seen = { 200: 0, 429: 0, 503: 0 };
    for (let second = 0; second < 599; second += 1) {
      for (let source = 1; source <= 9; source += 1) {
        const { status } = await send('/auth/start', startOf('mal'), `192.0.2.${source}`);
        seen[status as keyof typeof seen] += 1;
      }
      clock.advance(1_000);
    }
    expect(seen).toEqual({ 200: 5_000, 429: 0, 503: 9 * 599 - 5_000 });
  });

  test('a start body that never ends is read no longer than its deadline', async () => {
    const { send, clock, runReady } = createTestService();
    let cancelled = false;
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode('{"service":')),
      cancel: () => {
        cancelled = true;
      },
    });
    const started = send('/auth/start', { method: 'POST', body });
    await runReady();
    clock.advance(START_BODY_DEADLINE_MS);
    const response = await started;
    expect([response.status, await response.text()]).toEqual([400, 'Invalid JSON\n']);
    expect(cancelled).toBe(true);
  });

  test('of a longer body no more than 512 bytes are read', async () => {
    const { send } = createTestService();
    const body = `${JSON.stringify({ service: 'mal' })}${' '.repeat(10_000)}`;
    expect((await send('/auth/start', { method: 'POST', body })).status).toBe(200);
    const late = `${' '.repeat(500)}${JSON.stringify({ service: 'mal' })}`;
    expect((await send('/auth/start', { method: 'POST', body: late })).status).toBe(400);
  });

  test('of a query or a form 64 parameters are read, whatever else comes', async () => {
    const { send, start } = createTestService();
    const { state } = await start();
    const junk = (count: number) => 'a&'.repeat(count);
    expect((await send(`/auth/mal?${junk(63)}state=${state}`)).status).toBe(302);
    expect((await send(`/auth/mal?${junk(64)}state=${state}`)).status).toBe(404);
    const askForToken = async (count: number) => {
      const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
      const body = `${junk(count)}grant_type=other`;
      const answer = await send('/oauth2/mal/token', { method: 'POST', headers, body });
      return ((await answer.json()) as { error: string }).error;
    };
    expect(await askForToken(63)).toBe('unsupported_grant_type');
    expect(await askForToken(64)).toBe('invalid_request');
  });
});
