/**
 * The contract of a store (src/relay/store.ts), for every store: a new store's test
 * is a factory and a call of `runStoreSuite`, and a world of test/model, which has every order
 * of events.
 */
import { afterEach, describe } from 'bun:test';
import type { RateLimitPolicy, TestStores } from '../kit/stores.ts';
import { testRateLimiter, testRefreshes } from './suite-limits.ts';
import { testObserver } from './suite-observer.ts';
import { testCancellations, testProgress } from './suite-progress.ts';
import {
  testAcknowledgements,
  testChallenges,
  testOutcomes,
  testRepeats,
  testUserCodes,
} from './suite-results.ts';
import { testContract, testExpiry, testRaces } from './suite-sessions.ts';

/** Opens empty stores for one test. */
export type OpenStores = (options?: {
  readonly maxSessions?: number;
  readonly startPolicy?: RateLimitPolicy;
}) => Promise<TestStores>;

export function runStoreSuite(name: string, openStores: OpenStores): void {
  const opened: TestStores[] = [];
  const open: OpenStores = async (options) => {
    const stores = await openStores(options);
    opened.push(stores);
    return stores;
  };
  describe(`${name}:`, () => {
    afterEach(() => {
      for (const stores of opened.splice(0)) stores.close();
    });
    describe('contract:', () => testContract(open));
    describe('expiry:', () => testExpiry(open));
    describe('races:', () => testRaces(open));
    describe('challenges:', () => testChallenges(open));
    describe('user codes:', () => testUserCodes(open));
    describe('outcomes:', () => testOutcomes(open));
    describe('acknowledgements:', () => testAcknowledgements(open));
    describe('repeated results:', () => testRepeats(open));
    describe('progress:', () => testProgress(open));
    describe('cancellations:', () => testCancellations(open));
    describe('observer:', () => testObserver(open));
    describe('rate limiter:', () => testRateLimiter(open));
    describe('refreshes:', () => testRefreshes(open));
  });
}
