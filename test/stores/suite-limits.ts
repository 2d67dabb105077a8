/** The store suite: buckets of the rate limits, and single-flight refreshes (RFC 6749 §6). */
import { expect, test } from 'bun:test';
import type { RateLimiter } from '../../src/sign-ins/rate-limits.ts';
import { EXCHANGE_LEASE_MS, REFRESH_RESULT_MS } from '../kit/limits.ts';
import type { OpenStores } from '../kit/stores.ts';

const ADDRESS = '192.0.2.1';

/** For each take 0, or the milliseconds until there is a token. */
async function take(limiter: RateLimiter, count: number, address = ADDRESS): Promise<number[]> {
  const delaysMs: number[] = [];
  for (let taken = 0; taken < count; taken += 1) delaysMs.push(await limiter.take(address));
  return delaysMs;
}

export function testRateLimiter(open: OpenStores): void {
  async function openLimiter(policy = { burst: 3, ratePerSecond: 1 }) {
    const { createRateLimiter, time } = await open();
    const limiter = createRateLimiter?.('start', policy) ?? expect.unreachable();
    return { limiter, createRateLimiter, time };
  }

  test('a burst at once, then one a second; left alone the bucket is full again', async () => {
    const { limiter, time } = await openLimiter();
    expect(await take(limiter, 4)).toEqual([0, 0, 0, 1_000]);
    time.advance(1_000);
    expect(await take(limiter, 2)).toEqual([0, 1_000]);
    time.advance(60_000);
    expect(await take(limiter, 4)).toEqual([0, 0, 0, 1_000]);
  });

  test('each address has a bucket of its own, and each limit', async () => {
    const { limiter, createRateLimiter } = await openLimiter();
    await take(limiter, 3);
    expect(await take(limiter, 4, '2001:db8::')).toEqual([0, 0, 0, 1_000]);
    const other = createRateLimiter?.('others', { burst: 1, ratePerSecond: 1 });
    expect(await other?.take(ADDRESS)).toBe(0);
  });

  test.each([
    [1, 0.7],
    [3, 1.5],
    [10, 0.3],
    [7, 6],
  ])(
    'the burst of %d is whole at a rate of %d, despite fractions of a millisecond',
    async (burst, ratePerSecond) => {
      const { limiter } = await openLimiter({ burst, ratePerSecond });
      const delaysMs = await take(limiter, burst + 1);
      expect(delaysMs.findIndex((delayMs) => delayMs > 0)).toBe(burst);
    },
  );

  test('25 takes at once get no more tokens than the burst', async () => {
    const { limiter } = await openLimiter();
    const delaysMs = await Promise.all(Array.from({ length: 25 }, () => limiter.take(ADDRESS)));
    expect(delaysMs.filter((delayMs) => delayMs === 0)).toHaveLength(3);
  });

  test('a refusal returns the milliseconds until there is a token, and costs nothing', async () => {
    const { limiter, time } = await openLimiter({ burst: 2, ratePerSecond: 3 });
    await take(limiter, 2);
    const [retryAfterMs = 0] = await take(limiter, 20);
    time.advance(retryAfterMs - 1);
    expect(await limiter.take(ADDRESS)).toBe(1);
    time.advance(1);
    expect(await limiter.take(ADDRESS)).toBe(0);
  });

  test('a refunded token can be taken again, once; a full bucket gets no more', async () => {
    const { limiter, time } = await openLimiter();
    await limiter.refund(ADDRESS);
    expect(await take(limiter, 4)).toEqual([0, 0, 0, 1_000]);
    await limiter.refund(ADDRESS);
    expect(await take(limiter, 2)).toEqual([0, 1_000]);
    time.advance(60_000);
    await limiter.refund(ADDRESS);
    expect(await take(limiter, 4)).toEqual([0, 0, 0, 1_000]);
  });
}

const KEY = 'mal a-refresh-token';
const RESULT = '{"accessToken":"fresh"}';
const ACQUIRED = { state: 'acquired' } as const;
const IN_PROGRESS = { state: 'in_progress' } as const;
const FINISHED = { state: 'finished', result: RESULT } as const;

export function testRefreshes(open: OpenStores): void {
  test('one of many callers with the same token gets the lease', async () => {
    const { refreshes } = await open();
    const begun = await Promise.all(Array.from({ length: 20 }, () => refreshes.begin(KEY)));
    expect(begun.filter(({ state }) => state === 'acquired')).toHaveLength(1);
    expect(begun.filter(({ state }) => state === 'in_progress')).toHaveLength(19);
  });

  test('the result is kept to the last millisecond of its time, for its own token', async () => {
    const { refreshes, time } = await open();
    await refreshes.begin(KEY);
    await refreshes.finish(KEY, RESULT);
    expect(await refreshes.begin('mal another-token')).toEqual(ACQUIRED);
    time.advance(REFRESH_RESULT_MS);
    expect(await refreshes.begin(KEY)).toEqual(FINISHED);
    time.advance(1);
    expect(await refreshes.begin(KEY)).toEqual(ACQUIRED);
  });

  test('after a refresh without a result the next caller gets the lease', async () => {
    const { refreshes } = await open();
    await refreshes.begin(KEY);
    await refreshes.finish(KEY, undefined);
    expect(await refreshes.begin(KEY)).toEqual(ACQUIRED);
    expect(await refreshes.begin(KEY)).toEqual(IN_PROGRESS);
  });

  test('a caller that never finishes holds the lease to its last millisecond', async () => {
    const { refreshes, time } = await open();
    await refreshes.begin(KEY);
    time.advance(EXCHANGE_LEASE_MS);
    expect(await refreshes.begin(KEY)).toEqual(IN_PROGRESS);
    time.advance(1);
    expect(await refreshes.begin(KEY)).toEqual(ACQUIRED);
  });
}
