/** The store suite: buckets of the rate limits, and single-flight refreshes (RFC 6749 §6). */
import { expect, test } from 'bun:test';
import { EXCHANGE_LEASE_MS, REFRESH_ANSWER_MS } from '../kit/limits.ts';
import type { TestLimiter } from '../kit/stores.ts';
import type { OpenStores } from './suite.ts';

const ADDRESS = '192.0.2.1';
const OK = { ok: true } as const;
const refusedFor = (retryAfterMs: number) => ({ ok: false, retryAfterMs }) as const;

async function take(limiter: TestLimiter, count: number, address = ADDRESS) {
  const decisions: Awaited<ReturnType<TestLimiter['take']>>[] = [];
  for (let taken = 0; taken < count; taken += 1) decisions.push(await limiter.take(address));
  return decisions;
}

export function testRateLimiter(open: OpenStores): void {
  async function openLimiter(policy = { burst: 3, ratePerSecond: 1 }) {
    const { createLimiter, time } = await open();
    return { limiter: createLimiter(policy), time };
  }

  test('a burst at once, then one a second; left alone the bucket is full again, and never more', async () => {
    const { limiter, time } = await openLimiter();
    expect(await take(limiter, 4)).toEqual([OK, OK, OK, refusedFor(1_000)]);
    time.advance(1_000);
    expect(await take(limiter, 2)).toEqual([OK, refusedFor(1_000)]);
    time.advance(60_000);
    expect(await take(limiter, 4)).toEqual([OK, OK, OK, refusedFor(1_000)]);
  });

  test('each address has a bucket of its own', async () => {
    const { limiter } = await openLimiter();
    await take(limiter, 3);
    expect(await take(limiter, 4, '2001:db8::')).toEqual([OK, OK, OK, refusedFor(1_000)]);
  });

  test.each([
    [1, 0.7],
    [3, 1.5],
    [10, 0.3],
    [7, 6],
  ])(
    'the burst of %d is whole at a rate of %d, in spite of fractions of a millisecond',
    async (burst, ratePerSecond) => {
      const { limiter } = await openLimiter({ burst, ratePerSecond });
      const decisions = await take(limiter, burst + 1);
      expect(decisions.map(({ ok }) => ok)).toEqual([...Array(burst).fill(true), false]);
    },
  );

  test('of 25 at once as many pass as the burst allows', async () => {
    const { limiter } = await openLimiter();
    const decisions = await Promise.all(Array.from({ length: 25 }, () => limiter.take(ADDRESS)));
    expect(decisions.filter(({ ok }) => ok)).toHaveLength(3);
  });

  test('a refusal tells the millisecond at which there is a token, and costs nothing', async () => {
    const { limiter, time } = await openLimiter({ burst: 2, ratePerSecond: 3 });
    await take(limiter, 2);
    const [refused] = await take(limiter, 20);
    const { retryAfterMs } = refused as { retryAfterMs: number };
    time.advance(retryAfterMs - 1);
    expect(await limiter.take(ADDRESS)).toMatchObject({ ok: false });
    time.advance(1);
    expect(await limiter.take(ADDRESS)).toEqual(OK);
  });

  test('a sweep refunds nothing', async () => {
    const { limiter, time } = await openLimiter();
    await take(limiter, 3);
    time.advance(999);
    await limiter.sweep();
    expect(await take(limiter, 1)).toEqual([refusedFor(1)]);
  });

  test('a refunded token can be taken again, once; to a full bucket, or none, nothing is added', async () => {
    const { limiter, time } = await openLimiter();
    await limiter.refund(ADDRESS);
    expect(await take(limiter, 4)).toEqual([OK, OK, OK, refusedFor(1_000)]);
    await limiter.refund(ADDRESS);
    expect(await take(limiter, 2)).toEqual([OK, refusedFor(1_000)]);
    time.advance(60_000);
    await limiter.refund(ADDRESS);
    expect(await take(limiter, 4)).toEqual([OK, OK, OK, refusedFor(1_000)]);
  });
}

const KEY = 'mal a-refresh-token';
const ANSWER = '{"accessToken":"fresh"}';
const YOURS = { state: 'yours' } as const;
const UNDER_WAY = { state: 'under_way' } as const;
const ANSWERED = { state: 'answered', answer: ANSWER } as const;

export function testRefreshes(open: OpenStores): void {
  test('of many with one token one asks the provider', async () => {
    const { refreshes } = await open();
    const turns = await Promise.all(Array.from({ length: 20 }, () => refreshes.begin(KEY)));
    expect(turns.filter(({ state }) => state === 'yours')).toHaveLength(1);
    expect(turns.filter(({ state }) => state === 'under_way')).toHaveLength(19);
  });

  test('the answer is kept to the last millisecond of its time, for its own token', async () => {
    const { refreshes, time } = await open();
    await refreshes.begin(KEY);
    await refreshes.settle(KEY, ANSWER);
    expect(await refreshes.begin('mal another-token')).toEqual(YOURS);
    time.advance(REFRESH_ANSWER_MS);
    expect(await refreshes.begin(KEY)).toEqual(ANSWERED);
    time.advance(1);
    expect(await refreshes.begin(KEY)).toEqual(YOURS);
  });

  test('if there is no answer the next one asks', async () => {
    const { refreshes } = await open();
    await refreshes.begin(KEY);
    await refreshes.settle(KEY, undefined);
    expect(await refreshes.begin(KEY)).toEqual(YOURS);
    expect(await refreshes.begin(KEY)).toEqual(UNDER_WAY);
  });

  test('one that never settles is replaced when its lease runs out', async () => {
    const { refreshes, time } = await open();
    await refreshes.begin(KEY);
    time.advance(EXCHANGE_LEASE_MS);
    expect(await refreshes.begin(KEY)).toEqual(UNDER_WAY);
    time.advance(1);
    expect(await refreshes.begin(KEY)).toEqual(YOURS);
  });
}
