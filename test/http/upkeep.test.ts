/** What the service does by itself, without being asked. */
import { describe, expect, test } from 'bun:test';
import { DISCOVERY_RETRY_MS, SWEEP_INTERVAL_MS } from '../../src/limits.ts';
import { runTurns } from '../support/fake-clock.ts';
import { createTestService, SETTINGS, startOf } from '../support/test-service.ts';

const LIFETIME_MS = SETTINGS.sessionSeconds * 1_000;

describe('sweeping', () => {
  test('expired sessions and full buckets are thrown away, time and again', async () => {
    const { start, clock, store, limiters, runReady } = createTestService();
    for (let round = 0; round < 3; round += 1) {
      await start();
      expect([store.size, limiters.get('start')?.size]).toEqual([1, 1]);
      clock.advance(LIFETIME_MS + SWEEP_INTERVAL_MS);
      await runReady();
      expect([store.size, limiters.get('start')?.size]).toEqual([0, 0]);
    }
  });

  test('a sweep that fails is not the last', async () => {
    let sweeps = 0;
    const { clock, runReady } = createTestService({}, undefined, {
      changeStore: (store) => ({
        ...store,
        async sweep() {
          sweeps += 1;
          throw new TypeError('a bug in the store');
        },
      }),
    });
    for (let round = 0; round < 3; round += 1) {
      clock.advance(SWEEP_INTERVAL_MS);
      await runReady();
    }
    expect(sweeps).toBe(3);
  });
});

describe('discovery', () => {
  const issuer = 'https://login.acme.test';
  const document = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
  };

  test('an issuer that does not answer is asked again; until it does starts are told to come again', async () => {
    const acme = { name: 'acme', displayName: 'Acme', issuer, clientId: 'acme-client' };
    const discoveries = [{ ...acme, authorizeParams: {} }];
    const answers = [503, 503, 200];
    const asked: string[] = [];
    const { discover, clock, send, start } = createTestService({ discoveries }, async (url) => {
      asked.push(url);
      return Response.json(document, { status: answers.shift() ?? 500 });
    });
    await discover();
    for (let tries = 1; tries <= 2; tries += 1) {
      expect(asked).toHaveLength(tries);
      const refused = await send('/auth/start', startOf('acme'), `192.0.2.${tries}`);
      expect([refused.status, await refused.text()]).toEqual([503, 'Server busy\n']);
      clock.advance(DISCOVERY_RETRY_MS - 1);
      await runTurns();
      expect(asked).toHaveLength(tries);
      clock.advance(1);
      await runTurns();
    }
    expect((await start('acme')).response.status).toBe(200);

    clock.advance(10 * DISCOVERY_RETRY_MS);
    await runTurns();
    expect(asked).toHaveLength(3);
  });
});

test('a closed service sweeps no more, asks no issuer again, and sets no timer', async () => {
  const acme = { name: 'acme', displayName: 'Acme', issuer: 'https://login.acme.test' };
  const discoveries = [{ ...acme, clientId: 'acme-client', authorizeParams: {} }];
  const asked: string[] = [];
  const { discover, start, close, clock, store } = createTestService(
    { discoveries },
    async (url) => {
      asked.push(url);
      return new Response('', { status: 503 });
    },
  );
  await discover();
  await start();
  close();
  clock.advance(LIFETIME_MS + SWEEP_INTERVAL_MS + DISCOVERY_RETRY_MS);
  await runTurns();
  expect([store.size, asked.length, clock.timers]).toEqual([1, 1, 0]);
});
