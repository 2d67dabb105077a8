import { expect, test } from 'bun:test';
import { EXCHANGE_LEASE_MS, REFRESH_ANSWER_MS } from '../../src/limits.ts';
import { createMemoryRefreshAnswers } from '../../src/stores/memory-refresh-answers.ts';
import { runRefreshAnswersSuite } from './suite/run-refresh-answers-suite.ts';

runRefreshAnswersSuite('memory', async () => createMemoryRefreshAnswers());

test('a sweep drops turns and answers whose time is over', async () => {
  const store = createMemoryRefreshAnswers();
  await store.begin('left alone', 0);
  await store.begin('answered', 0);
  await store.settle('answered', '{}', 0);
  await store.sweep(EXCHANGE_LEASE_MS + 1);
  expect(store.size).toBe(1);
  await store.sweep(REFRESH_ANSWER_MS + 1);
  expect(store.size).toBe(0);
});
