/**
 * Redis stands still for a while as polls begin, and a sign-in completes after
 * it: no poll may sleep through that. How long it stands still matters, because
 * what a relay learns of it changes with its deadlines.
 */
import { describe, expect, test } from 'bun:test';
import { startRedis } from '../../support/redis/start-redis.ts';
import { poll, startSession } from '../../support/wire.ts';
import { makeCode } from '../support/person.ts';
import { startRelayPair } from '../support/relay-pair.ts';
import { bringCodeWhenPossible } from '../support/sign-in.ts';
import { tokenOf } from '../support/token-endpoint.ts';

/** From far below the first deadline to beyond all of them, closer together around each. */
const FREEZES_MS = [
  ...[200, 500, 800, 1_100, 1_300, 1_400, 1_500, 1_600, 1_700, 1_800, 1_900, 1_950, 2_000],
  ...[2_050, 2_100, 2_200, 2_400, 2_700, 3_000, 3_500, 4_000, 4_500, 5_000],
];
/** At each relay. */
const DEVICES = 10;
/** Longer than the whole sweep: a poll that ends by itself was never woken. */
const POLL_SECONDS = '230';

export function testFreezes(): void {
  describe.concurrent(`Redis stands still for 0.2 to 5 s, ${FREEZES_MS.length} times`, () => {
    test('each poll that begins meanwhile is woken by its completion', async () => {
      await using stack = new AsyncDisposableStack();
      const redis = await startRedis();
      stack.defer(() => redis.stop());
      const { relays } = stack.use(await startRelayPair(redis.url, { env: { POLL_SECONDS } }));
      const longest: Record<number, number> = {};
      for (const freezeMs of FREEZES_MS) {
        const devices = Array.from({ length: 2 * DEVICES }, async (_, index) => {
          const relay = relays[index % 2] ?? relays[0];
          return { relay, ...(await startSession(relay.baseUrl, 'mal')) };
        });
        const sessions = await Promise.all(devices);
        await redis.freeze();
        const polls = sessions.map(({ relay, session }) => askUntilDone(relay.baseUrl, session));
        await Bun.sleep(freezeMs);
        redis.thaw();
        const delays = await Promise.all(
          sessions.map(async ({ state }, index) => {
            const code = makeCode();
            await bringCodeWhenPossible(relays, state, code);
            const completedAt = performance.now();
            expect(await polls[index]).toEqual({ accessToken: tokenOf(code) });
            return performance.now() - completedAt;
          }),
        );
        longest[freezeMs] = Math.round(Math.max(...delays));
      }
      console.log('longest delay after a freeze, in ms:', JSON.stringify(longest));
    }, 120_000);
  });
}

/** As a device does that is told to come again. */
async function askUntilDone(baseUrl: string, session: string): Promise<unknown> {
  for (;;) {
    const answer = await poll(baseUrl, session);
    if (answer.status === 200) return answer.json();
    expect(answer.status).toBe(204);
  }
}
