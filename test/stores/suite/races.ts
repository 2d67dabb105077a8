import { expect, test } from 'bun:test';
import {
  NOW,
  newSession,
  type OpenStore,
  register,
  registerCompleted,
  TOKENS,
} from './sessions.ts';

const RACERS = 25;
const ROUNDS = 40;

function race<T>(run: (racer: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: RACERS }, (_, racer) => run(racer)));
}

export function testRaces(openStore: OpenStore): void {
  test(`of ${RACERS} claims at once one gets the result, ${ROUNDS} times over`, async () => {
    const store = await openStore();
    for (let round = 0; round < ROUNDS; round += 1) {
      const { pollSecret } = await registerCompleted(store);
      const claims = await race(() => store.claim(pollSecret, NOW));
      expect(claims.filter(({ state }) => state === 'claimed')).toHaveLength(1);
      expect(claims.filter(({ state }) => state === 'gone')).toHaveLength(RACERS - 1);
    }
  });

  test(`of ${RACERS} leases at once one is given, ${ROUNDS} times over`, async () => {
    const store = await openStore();
    for (let round = 0; round < ROUNDS; round += 1) {
      const { service, browserState } = await register(store);
      const leases = await race(() => store.lease(service, browserState, NOW));
      expect(leases.filter((lease) => lease !== undefined)).toHaveLength(1);
    }
  });

  test('a denial and a code at once: one of them wins', async () => {
    const store = await openStore();
    for (let round = 0; round < ROUNDS; round += 1) {
      const { service, browserState } = await register(store);
      const won = await race(async (racer) =>
        racer % 2 === 0
          ? (await store.lease(service, browserState, NOW)) !== undefined
          : store.fail(service, browserState, { error: 'access_denied' }, NOW),
      );
      expect(won.filter(Boolean)).toHaveLength(1);
    }
  });

  test('registrations at once never go over the cap', async () => {
    const store = await openStore({ maxSessions: 10 });
    const outcomes = await race(() => store.register(newSession(), NOW));
    expect(outcomes.filter((outcome) => outcome === 'registered')).toHaveLength(10);
    expect(outcomes.filter((outcome) => outcome === 'busy')).toHaveLength(RACERS - 10);
  });

  test('registrations of one state at once: one is registered', async () => {
    const store = await openStore();
    const { browserState } = newSession();
    const outcomes = await race(() => store.register(newSession({ browserState }), NOW));
    expect(outcomes.filter((outcome) => outcome === 'registered')).toHaveLength(1);
  });

  test('a completion between watching and claiming is never missed', async () => {
    const store = await openStore();
    for (let round = 0; round < ROUNDS; round += 1) {
      const { service, browserState, pollSecret } = await register(store);
      await store.lease(service, browserState, NOW);
      const completed = store.complete(service, browserState, TOKENS, NOW);
      const woken = new Promise<void>((resolve) => store.watch(pollSecret, () => resolve()));
      const first = await store.claim(pollSecret, NOW);
      if (first.state === 'pending') await woken;
      const result = first.state === 'pending' ? await store.claim(pollSecret, NOW) : first;
      expect(result).toEqual({ state: 'claimed', result: TOKENS });
      expect(await completed).toBe(true);
    }
  });
}
