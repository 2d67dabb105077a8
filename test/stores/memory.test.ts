import { expect, test } from 'bun:test';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { runStoreSuite } from './suite/run-store-suite.ts';
import { LIFETIME_MS, NOW, register, registerCompleted } from './suite/sessions.ts';

runStoreSuite('memory', async (options) => createMemoryStore(options));

test('the memory store keeps no session after its claim or its sweep', async () => {
  const store = createMemoryStore({ maxSessions: 100 });
  const { pollSecret } = await registerCompleted(store);
  for (let count = 0; count < 50; count += 1) await register(store);
  await store.claim(pollSecret, NOW);
  expect(store.size).toBe(50);
  await store.sweep(NOW + LIFETIME_MS + 1);
  expect(store.size).toBe(0);
});
