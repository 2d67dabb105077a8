/** What src/relay/refresh-answers.ts asks of a store, held against one. RFC 6749 §6. */
import { afterEach, describe, expect, test } from 'bun:test';
import { EXCHANGE_LEASE_MS, REFRESH_ANSWER_MS } from '../../../src/limits.ts';
import type { RefreshAnswerStore } from '../../../src/relay/refresh-answers.ts';
import { NOW } from './sessions.ts';

/** Makes a store without refreshes. What it needs closed it adds to `cleanUps`. */
export type MakeRefreshAnswers = (cleanUps: (() => Promise<void>)[]) => Promise<RefreshAnswerStore>;

const KEY = 'mal a-refresh-token';
const ANSWER = '{"accessToken":"fresh"}';
const YOURS = { state: 'yours' } as const;
const UNDER_WAY = { state: 'under_way' } as const;
const ANSWERED = { state: 'answered', answer: ANSWER } as const;

export function runRefreshAnswersSuite(name: string, make: MakeRefreshAnswers): void {
  const cleanUps: (() => Promise<void>)[] = [];
  const open = () => make(cleanUps);
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0)) await cleanUp();
  });

  describe(`${name} refresh answers`, () => {
    test('of many who come with one token one asks the provider', async () => {
      const store = await open();
      const turns = await Promise.all(Array.from({ length: 20 }, () => store.begin(KEY, NOW)));
      expect(turns.filter(({ state }) => state === 'yours')).toHaveLength(1);
      expect(turns.filter(({ state }) => state === 'under_way')).toHaveLength(19);
    });

    test('each token has a turn and an answer of its own', async () => {
      const store = await open();
      await store.begin(KEY, NOW);
      await store.settle(KEY, ANSWER, NOW);
      expect(await store.begin('mal another-token', NOW)).toEqual(YOURS);
    });

    test('the answer is there to the last millisecond of its time', async () => {
      const store = await open();
      await store.begin(KEY, NOW);
      await store.settle(KEY, ANSWER, NOW);
      expect(await store.begin(KEY, NOW + REFRESH_ANSWER_MS)).toEqual(ANSWERED);
      expect(await store.begin(KEY, NOW + REFRESH_ANSWER_MS + 1)).toEqual(YOURS);
    });

    test('without an answer the next to ask has the turn', async () => {
      const store = await open();
      await store.begin(KEY, NOW);
      await store.settle(KEY, undefined, NOW);
      expect(await store.begin(KEY, NOW)).toEqual(YOURS);
      expect(await store.begin(KEY, NOW)).toEqual(UNDER_WAY);
    });

    test('whoever had the turn and died loses it when the lease runs out', async () => {
      const store = await open();
      await store.begin(KEY, NOW);
      expect(await store.begin(KEY, NOW + EXCHANGE_LEASE_MS)).toEqual(UNDER_WAY);
      expect(await store.begin(KEY, NOW + EXCHANGE_LEASE_MS + 1)).toEqual(YOURS);
    });
  });
}
