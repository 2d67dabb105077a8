import { expect, test } from 'bun:test';
import { REFRESH_ANSWER_MS } from '../../src/limits.ts';
import { createMemoryRefreshAnswers } from '../../src/stores/memory-refresh-answers.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { runRefreshAnswersSuite } from './suite/run-refresh-answers-suite.ts';

runRefreshAnswersSuite('memory', async () => createMemoryRefreshAnswers(createFakeClock()));

test('an answer is gone when its time is over, whether or not anybody asks', async () => {
  const clock = createFakeClock();
  const store = createMemoryRefreshAnswers(clock);
  await store.begin('given up', clock.now());
  await store.settle('given up', undefined, clock.now());
  expect(store.size).toBe(0);
  await store.begin('answered', clock.now());
  await store.settle('answered', '{}', clock.now());
  clock.advance(REFRESH_ANSWER_MS);
  expect(await store.begin('answered', clock.now())).toMatchObject({ state: 'answered' });
  clock.advance(1);
  expect(store.size).toBe(0);
});
