/** What src/relay/rate-limit.ts asks of a keeper of buckets, held against one. `protocol.md` §8. */
import { afterEach, describe, expect, test } from 'bun:test';
import type {
  RateLimitDecision,
  RateLimiter,
  RateLimitPolicy,
} from '../../../src/relay/rate-limit.ts';
import { NOW } from './sessions.ts';

/** Makes a limiter without buckets. What it needs closed it adds to `cleanUps`. */
export type MakeRateLimiter = (
  policy: RateLimitPolicy,
  cleanUps: (() => Promise<void>)[],
) => Promise<RateLimiter>;

const POLICY: RateLimitPolicy = { burst: 3, ratePerSecond: 1 };
const OK: RateLimitDecision = { ok: true };
const ADDRESS = '192.0.2.1';

const refusedFor = (retryAfterMs: number): RateLimitDecision => ({ ok: false, retryAfterMs });

export function runRateLimiterSuite(name: string, makeRateLimiter: MakeRateLimiter): void {
  const cleanUps: (() => Promise<void>)[] = [];
  const open = (policy = POLICY) => makeRateLimiter(policy, cleanUps);
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0)) await cleanUp();
  });
  describe(`${name} rate limiter`, () => {
    testBursts(open);
    testRefusals(open);
    testGivingBack(open);
  });
}

type Open = (policy?: RateLimitPolicy) => Promise<RateLimiter>;

async function takeMany(limiter: RateLimiter, count: number, nowMs = NOW, address = ADDRESS) {
  const decisions: RateLimitDecision[] = [];
  for (let taken = 0; taken < count; taken += 1) {
    decisions.push(await limiter.take(address, nowMs));
  }
  return decisions;
}

function testBursts(open: Open): void {
  test('§8: a burst at once, then one a second', async () => {
    const limiter = await open();
    expect(await takeMany(limiter, 4)).toEqual([OK, OK, OK, refusedFor(1_000)]);
    expect(await takeMany(limiter, 2, NOW + 1_000)).toEqual([OK, refusedFor(1_000)]);
  });

  test('§8: each address has a bucket of its own', async () => {
    const limiter = await open();
    await takeMany(limiter, 3);
    expect(await takeMany(limiter, 4, NOW, '2001:db8::')).toEqual([OK, OK, OK, refusedFor(1_000)]);
  });

  test('a bucket left alone is full again, and never more than full', async () => {
    const limiter = await open();
    await takeMany(limiter, 3);
    expect(await takeMany(limiter, 4, NOW + 60_000)).toEqual([OK, OK, OK, refusedFor(1_000)]);
  });

  test('the burst is whole at every rate, fractions of a millisecond notwithstanding', async () => {
    for (const [burst, ratePerSecond] of [
      [1, 0.7],
      [3, 1.5],
      [10, 0.3],
      [7, 6],
    ] as const) {
      const limiter = await open({ burst, ratePerSecond });
      const decisions = await takeMany(limiter, burst + 1);
      expect(decisions.slice(0, burst)).toEqual(Array<RateLimitDecision>(burst).fill(OK));
      expect(decisions.at(-1)).toMatchObject({ ok: false });
    }
  });

  test('of 25 at once as many pass as the burst allows', async () => {
    const limiter = await open();
    const decisions = await Promise.all(
      Array.from({ length: 25 }, () => limiter.take(ADDRESS, NOW)),
    );
    expect(decisions.filter(({ ok }) => ok)).toHaveLength(3);
  });
}

function testRefusals(open: Open): void {
  test('a refusal says the millisecond at which there is a token, and costs nothing', async () => {
    const limiter = await open({ burst: 2, ratePerSecond: 3 });
    await takeMany(limiter, 2);
    const [refused] = await takeMany(limiter, 20);
    expect(refused).toMatchObject({ ok: false });
    const { retryAfterMs } = refused as { retryAfterMs: number };
    expect(await limiter.take(ADDRESS, NOW + retryAfterMs - 1)).toMatchObject({ ok: false });
    expect(await limiter.take(ADDRESS, NOW + retryAfterMs)).toEqual(OK);
  });

  test('a sweep gives no token back', async () => {
    const limiter = await open();
    await takeMany(limiter, 3);
    await limiter.sweep(NOW + 999);
    expect(await takeMany(limiter, 1, NOW + 999)).toEqual([refusedFor(1)]);
  });
}

function testGivingBack(open: Open): void {
  test('a token that is given back can be taken again, and no more than that', async () => {
    const limiter = await open();
    await takeMany(limiter, 3);
    await limiter.giveBack(ADDRESS, NOW);
    expect(await takeMany(limiter, 2)).toEqual([OK, refusedFor(1_000)]);
  });

  test('what is given back to a full bucket, or to none, is lost', async () => {
    const limiter = await open();
    await limiter.giveBack(ADDRESS, NOW);
    expect(await takeMany(limiter, 4)).toEqual([OK, OK, OK, refusedFor(1_000)]);
    const laterMs = NOW + 60_000;
    await limiter.giveBack(ADDRESS, laterMs);
    expect(await takeMany(limiter, 4, laterMs)).toEqual([OK, OK, OK, refusedFor(1_000)]);
  });
}
