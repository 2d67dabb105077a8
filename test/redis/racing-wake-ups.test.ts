/** Completion on one relay, subscription on another, at the same moment, ten thousand times. hazards.md §3, Wake-up. */
import { afterAll, expect, test } from 'bun:test';
import { LIFETIME_MS, NOW, newSession, TOKENS } from '../stores/suite/sessions.ts';
import { openTestRedis } from '../stores/support/redis-store.ts';
import { testSeed } from '../support/property.ts';
import { startRedis } from '../support/redis/start-redis.ts';

const SIGN_INS = 10_000;
const AT_ONCE = 50;

const redis = await startRedis();
afterAll(() => redis.stop());

test(`of ${SIGN_INS} polls that race their completion none is left waiting (seed ${testSeed})`, async () => {
  const prefix = `race-${crypto.randomUUID()}:`;
  const [device, browser] = await Promise.all([
    openTestRedis(redis.url, { prefix, maxSessions: SIGN_INS }),
    openTestRedis(redis.url, { prefix, maxSessions: SIGN_INS }),
  ]);
  let left = SIGN_INS;
  let woken = 0;

  async function signIn(): Promise<void> {
    const session = newSession({ lifetimeMs: LIFETIME_MS });
    const { service, browserState, pollSecret } = session;
    await device.store.register(session, NOW);
    await browser.store.lease(service, browserState, NOW);
    const completed = browser.store.complete(service, browserState, TOKENS, NOW);
    const wake = new Promise<void>((resolve) => device.store.watch(pollSecret, () => resolve()));
    let claim = await device.store.claim(pollSecret, NOW);
    if (claim.state === 'pending') {
      // Missed, this would wait for ever, and the test with it.
      await wake;
      woken += 1;
      claim = await device.store.claim(pollSecret, NOW);
    }
    expect(claim).toEqual({ state: 'claimed', result: TOKENS });
    expect(await completed).toBe(true);
  }

  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (left-- > 0) await signIn();
    }),
  );
  console.log(`${woken} of ${SIGN_INS} were woken, the others found their result`);
  expect(woken).toBeGreaterThan(SIGN_INS / 100);
  device.close();
  browser.close();
}, 120_000);
