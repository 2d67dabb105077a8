/** Secrets with tags: each is as random as without, and how close to its limit a store of several tags is filled (docs/scaling.md "When to use a Cluster"). */
import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { createRelay } from '../../src/relay/relay.ts';
import { createSessionSecrets, tagOf } from '../../src/relay/secrets.ts';
import type { NewSession, SessionStore } from '../../src/relay/store.ts';
import { createMemoryRateLimiter } from '../../src/stores/memory/rate-limits.ts';
import { createMemoryStore } from '../../src/stores/memory/sessions.ts';
import { createFakeClock } from '../kit/clock.ts';
import { createRandom } from '../kit/random.ts';

const TAGS = 16;
const CLOCK = createFakeClock(0);

describe('the secrets of a session', () => {
  const drawn = Array.from({ length: 4_000 }, () =>
    createSessionSecrets(randomBytes, { withUserCode: true, tags: TAGS }),
  );

  test('have one tag', () => {
    for (const { browserState, pollSecret, userCode } of drawn) {
      const tags = [browserState, pollSecret, userCode ?? ''].map((secret) => tagOf(secret, TAGS));
      expect(new Set(tags).size).toBe(1);
    }
  });

  test.each(['browserState', 'pollSecret', 'userCode'] as const)(
    'are as even in each character and tag as if there were no tags: %s',
    (name) => {
      const counts = new Map<string, number>();
      const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1);
      for (const { [name]: secret = '' } of drawn) {
        count(`tag ${tagOf(secret, TAGS)}`);
        for (const [at, character] of [...secret].entries()) count(`${at} ${character}`);
      }
      const places = name === 'userCode' ? 8 * 20 : 24 * 64;
      expect(counts.size).toBe(TAGS + places);
      for (const [what, found] of counts) {
        const expected =
          drawn.length / (what.startsWith('tag') ? TAGS : places / (name === 'userCode' ? 8 : 24));
        // Six standard deviations.
        expect(Math.abs(found - expected)).toBeLessThan(6 * Math.sqrt(expected));
      }
    },
  );
});

describe('a store of 16 tags', () => {
  /** Counts, as the scripts do, and keeps nothing else. */
  function createCountingStore(maxSessions: number) {
    const live = new Array<number>(TAGS).fill(0);
    let asked = 0;
    const store: SessionStore = {
      ...createMemoryStore(
        CLOCK,
        0,
        createMemoryRateLimiter(CLOCK, { burst: 1, ratePerSecond: 1 }),
      ),
      tags: TAGS,
      register({ browserState }: NewSession) {
        asked += 1;
        const tag = tagOf(browserState, TAGS);
        const share = Math.floor(maxSessions / TAGS) + (tag < maxSessions % TAGS ? 1 : 0);
        if ((live[tag] ?? 0) >= share) return 'busy';
        live[tag] = (live[tag] ?? 0) + 1;
        return 'registered';
      },
    };
    const total = () => live.reduce((sum, count) => sum + count);
    return { store, total, asked: () => asked };
  }
  const OPTIONS = {
    ...{ withVerifier: false, withUserCode: false, details: false, keepsErrors: false },
    ...{ challenge: undefined, deviceName: undefined, repeatMs: undefined },
  };

  test('a start that is tried at several tags takes one token of its address', async () => {
    const startedBy: unknown[] = [];
    const store: SessionStore = {
      ...createCountingStore(0).store,
      register(session: NewSession) {
        startedBy.push(session.startedBy);
        return 'busy';
      },
    };
    const relay = createRelay({
      ...{ store, clock: createFakeClock(0), randomBytes, sessionSeconds: 600 },
    });
    const address = '192.0.2.1';
    const started = await relay.start('mal', { ...OPTIONS, startedBy: address });
    expect(started).toEqual({ ok: false, refusal: 'busy' });
    expect(startedBy.filter((each) => each === address)).toHaveLength(1);
    expect(startedBy.length).toBeGreaterThan(1);
  });

  test.each([5_000, 20_000])(
    'is filled to 95 %% of %d before the first start is refused, and never beyond it',
    async (maxSessions) => {
      const { store, total, asked } = createCountingStore(maxSessions);
      // The same numbers each time: in some of thousands of runs a start is refused sooner.
      const random = createRandom(maxSessions);
      const sameBytes = (size: number) =>
        Buffer.from(Array.from({ length: size }, () => random() * 256));
      const relay = createRelay({
        ...{ store, clock: createFakeClock(0), randomBytes: sameBytes, sessionSeconds: 600 },
      });
      let firstRefusal: number | undefined;
      for (let nth = 0; nth < 1.1 * maxSessions; nth += 1) {
        const started = await relay.start('mal', OPTIONS);
        if (!started.ok) firstRefusal ??= total();
      }
      const filled = ((firstRefusal ?? 0) / maxSessions) * 100;
      console.log(
        `MAX_SESSIONS ${maxSessions}: first refusal at ${filled.toFixed(1)} %, then filled to ${((total() / maxSessions) * 100).toFixed(1)} %, ${(asked() / (1.1 * maxSessions)).toFixed(2)} scripts a start`,
      );
      expect(filled).toBeGreaterThan(95);
      expect(total()).toBeLessThanOrEqual(maxSessions);
    },
  );
});
