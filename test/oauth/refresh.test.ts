/** RFC 6749 §6: the relay refreshes with the client secret, which a device cannot keep (docs/device-grant.md "Refreshing"). */
import { describe, expect, test } from 'bun:test';
import {
  createRefreshes,
  MAX_REFRESH_RESULT_BYTES,
  MAX_REFRESH_RESULTS,
  REFRESH_CHECK_MS,
} from '../../src/providers/refreshes.ts';
import { PROVIDER_SHARES, RESERVED_FOR_DISCOVERY } from '../../src/providers/token-endpoint.ts';
import { createMemoryRefreshStore, plainVault } from '../../src/stores/memory.ts';
import { createFakeClock, runReady, runTurns } from '../kit/clock.ts';
import { refresh } from '../kit/device.ts';
import { EXCHANGE_LEASE_MS, REFRESH_RESULT_MS } from '../kit/limits.ts';
import {
  captureLog,
  createTestService,
  type Fetch,
  MAL,
  StoreUnavailable,
  type TestService,
} from '../kit/service.ts';

const UNAVAILABLE = { status: 503, body: { error: 'temporarily_unavailable' } };

/** Gives another token each time, like a provider that accepts each refresh token once. */
function rotate(): Fetch {
  let count = 0;
  return async () => {
    count += 1;
    return Response.json({ access_token: `access ${count}`, refresh_token: `new ${count}` });
  };
}

const rotatingService = (options = {}) => createTestService({ fetch: rotate(), ...options });

/** Another instance is always asking the provider. */
const ELSEWHERE = {
  stores: { refreshes: { begin: async () => ({ state: 'in_progress' }), finish: async () => {} } },
};

describe('answers that are kept for a repeated refresh', () => {
  test('are those of one token, one scope and one provider', async () => {
    const service = rotatingService();
    await refresh(service, 'old');
    await refresh(service, 'other');
    await refresh(service, 'old', { scope: 'read' });
    await refresh(service, 'old', {}, 'anilist');
    expect(service.sent).toHaveLength(4);
  });

  test.each([
    ['number', 'x', MAX_REFRESH_RESULTS],
    ['size', 'x'.repeat(60_000), Math.floor(MAX_REFRESH_RESULT_BYTES / 60_044)],
  ])(
    'are limited in %s: beyond that devices get tokens, and a repeat asks again',
    async (_, accessToken, limit) => {
      const clock = createFakeClock();
      const kept = createMemoryRefreshStore(clock);
      const refreshes = createRefreshes(kept, plainVault, clock);
      let asked = 0;
      const provider = {
        name: 'mal',
        async refresh() {
          asked += 1;
          return { ok: true, tokens: { accessToken } } as const;
        },
      };
      const refreshNumber = (nth: number) => refreshes.refresh(provider, `old ${nth}`, undefined);
      for (let nth = 0; nth <= limit; nth += 1) {
        expect(await refreshNumber(nth)).toEqual({ ok: true, tokens: { accessToken } });
      }
      expect(kept.size).toBe(limit);
      await refreshNumber(limit - 1);
      expect(asked).toBe(limit + 1);
      await refreshNumber(limit);
      expect(asked).toBe(limit + 2);
      clock.advance(REFRESH_RESULT_MS + 1);
      await refreshNumber(limit);
      expect(kept.size).toBe(1);
    },
  );
});

describe('a refresh that fails', () => {
  test('at a refresh endpoint is logged with a hint that names its setting', async () => {
    const { named } = captureLog('debug');
    const service = createTestService({
      providers: [{ ...MAL, refreshUrl: 'https://refresh.test/' }],
      fetch: async () => new Response('', { status: 404 }),
    });
    await refresh(service, 'old');
    expect(service.sent).toMatchObject([{ url: 'https://refresh.test/' }]);
    const hint = 'refresh.test has no refresh endpoint there (404): correct MAL_REFRESH_URL';
    expect(named('refresh_failed')).toMatchObject([{ hint }]);
  });

  const down = () => Promise.reject(new Error('down'));

  test('because the store is unavailable is 503 as well', async () => {
    const service = rotatingService({ stores: { refreshes: { begin: down, finish: down } } });
    expect(await refresh(service, 'old')).toMatchObject({ status: 503 });
  });

  test('does not include one whose answer could not be kept: it is passed on', async () => {
    const throws = () => {
      throw new StoreUnavailable();
    };
    for (const finish of [down, throws]) {
      const refreshes = { begin: async () => ({ state: 'acquired' }), finish };
      const service = rotatingService({ stores: { refreshes } });
      expect((await refresh(service, 'old')).body.access_token).toBe('access 1');
    }
  });

  test('sends no token if its lease has ended before the store replied', async () => {
    let begins = 0;
    const refreshes = {
      begin: async () => {
        begins += 1;
        if (begins === 1) service.clock.stall(EXCHANGE_LEASE_MS + 1);
        return { state: begins === 1 ? 'acquired' : 'in_progress' };
      },
      finish: () => {},
    };
    const service = rotatingService({ stores: { refreshes } });
    const asked = refresh(service, 'old');
    await runReady();
    expect([begins, service.sent]).toEqual([1, []]);
    service.clock.advance(2 * EXCHANGE_LEASE_MS);
    await asked;
    expect(service.sent).toEqual([]);
  });
});

test('a drain does not wait for the refresh of another instance, which has the tokens', async () => {
  const service = rotatingService(ELSEWHERE);
  const asked = refresh(service, 'old');
  await runTurns();
  const drained = service.drain();
  service.clock.advance(REFRESH_CHECK_MS);
  await runReady();
  await drained;
  expect(await asked).toMatchObject(UNAVAILABLE);
  expect(service.sent).toHaveLength(0);
});

test('one refresh more than a provider may have is not sent; others are not affected', async () => {
  const reply = Promise.withResolvers<void>();
  const service = createTestService({
    // One for each provider.
    fetchesAtOnce: RESERVED_FOR_DISCOVERY + PROVIDER_SHARES,
    async fetch(url) {
      if (url.includes('mal.test')) await reply.promise;
      return Response.json({ access_token: 'granted' });
    },
  });
  const first = refresh(service, 'old');
  await runTurns();
  expect(await refresh(service, 'another')).toMatchObject(UNAVAILABLE);
  expect(service.sent).toHaveLength(1);
  expect((await refresh(service, 'old', {}, 'anilist')).status).toBe(200);
  reply.resolve();
  expect((await first).status).toBe(200);
  expect((await refresh(service, 'another')).status).toBe(200);
});

test('a refresh of another instance that outlasts its lease: 503, nothing is sent', async () => {
  const service = rotatingService(ELSEWHERE);
  const asked = refresh(service, 'old');
  await runTurns();
  for (let ms = 0; ms <= EXCHANGE_LEASE_MS + REFRESH_CHECK_MS; ms += REFRESH_CHECK_MS) {
    service.clock.advance(REFRESH_CHECK_MS);
    await runReady();
  }
  expect(await asked).toMatchObject(UNAVAILABLE);
  expect(service.sent).toHaveLength(0);
});

test('a relay suspended for longer than its lease does not release that of another', async () => {
  const clock = createFakeClock();
  const refreshes = createMemoryRefreshStore(clock);
  const replies = [1, 2, 3].map(() => Promise.withResolvers<Response>());
  const [suspended, second, third] = replies.map(({ promise }) =>
    createTestService({ clock, stores: { refreshes }, fetch: () => promise }),
  ) as [TestService, TestService, TestService];
  const lost = refresh(suspended, 'old');
  await runTurns();
  clock.stall(EXCHANGE_LEASE_MS + 1);
  const sent = refresh(second, 'old');
  await runTurns();
  expect(second.sent).toHaveLength(1);
  replies[0]?.resolve(new Response('', { status: 500 }));
  expect(await lost).toMatchObject(UNAVAILABLE);
  const waits = refresh(third, 'old');
  await runTurns();
  expect(third.sent).toHaveLength(0);
  replies[1]?.resolve(Response.json({ access_token: 'granted' }));
  expect((await sent).body.access_token).toBe('granted');
  clock.advance(REFRESH_CHECK_MS);
  expect((await waits).body.access_token).toBe('granted');
});
