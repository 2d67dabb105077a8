/** The connections to Redis are cut: again and again, and once at an awkward moment. */
import { describe, expect, test } from 'bun:test';
import { startCuttingProxy } from '../../support/redis/cutting-proxy.ts';
import { startRedis } from '../../support/redis/start-redis.ts';
import { startSession } from '../../support/wire.ts';
import { startCutOffPair } from '../support/cut-off-pair.ts';
import { park, pollUntilDone } from '../support/device.ts';
import { bringCode, makeCode } from '../support/person.ts';
import { startRelayPair } from '../support/relay-pair.ts';
import { type SignedIn, signIn } from '../support/sign-in.ts';
import { tally } from '../support/tally.ts';
import { tokenOf } from '../support/token-endpoint.ts';

const CUTTING_MS = Number(process.env.TEST_CUTTING_MS ?? 60_000);
const BETWEEN_CUTS_MS = 100;
const WORKERS = 6;
/** Between two sign-ins of one worker: what they say is searched for secrets later. */
const PAUSE_MS = 150;

/** Completions one after the other, from just before a cut until long after it is mended. */
const COMPLETIONS = 40;
const BETWEEN_COMPLETIONS_MS = 10;
const BEFORE_CUT = 4;
/** The cut meets the heartbeat at another moment each time. */
const ROUNDS = 8;

export function testCuts(): void {
  describe.concurrent('connections are cut', () => {
    test(
      `every ${BETWEEN_CUTS_MS} ms: sign-ins go on, none is delivered twice, none hangs`,
      async () => {
        await using stack = new AsyncDisposableStack();
        const redis = await startRedis();
        stack.defer(() => redis.stop());
        const proxy = await startCuttingProxy(redis.port);
        stack.defer(() => proxy.stop());
        const { relays, provider } = stack.use(await startRelayPair(proxy.url));
        const signIns: SignedIn[] = [];
        let isOver = false;
        async function work(): Promise<void> {
          while (!isOver) {
            signIns.push(await signIn(relays));
            await Bun.sleep(PAUSE_MS);
          }
        }
        const workers = Array.from({ length: WORKERS }, work);
        for (let cuts = 0; cuts < CUTTING_MS / BETWEEN_CUTS_MS; cuts += 1) {
          proxy.cutAll();
          await Bun.sleep(BETWEEN_CUTS_MS);
        }
        isOver = true;
        await Promise.all(workers);
        signIns.push(await signIn(relays));

        const sums = tally(signIns);
        console.log('cuts:', JSON.stringify(sums));
        expect(sums).toMatchObject({ doubled: 0, wrong: 0 });
        expect(sums.delivered).toBeGreaterThan(WORKERS);
        for (const { code } of signIns) expect(provider.exchangesOf(code)).toBeLessThanOrEqual(1);
      },
      CUTTING_MS + 90_000,
    );

    test('once, at any moment around a completion: the poll is woken all the same', async () => {
      await using stack = new AsyncDisposableStack();
      const { proxy, cutOff, other } = await startCutOffPair(stack);

      async function parkOne() {
        const { session, state } = await startSession(other.baseUrl, 'mal');
        const { answer } = await park(cutOff, session);
        return { session, state, answer, code: makeCode() };
      }
      for (let round = 0; round < ROUNDS; round += 1) {
        const parked = await Promise.all(Array.from({ length: COMPLETIONS }, parkOne));
        for (const [index, { state, code }] of parked.entries()) {
          if (index === BEFORE_CUT) proxy.cutAll();
          expect((await bringCode(other, state, code)).status).toBe(200);
          await Bun.sleep(BETWEEN_COMPLETIONS_MS);
        }
        for (const { session, answer, code } of parked) {
          const first = await answer;
          const result =
            first.status === 204 ? await pollUntilDone([cutOff], session) : await first.json();
          expect(result).toEqual({ accessToken: tokenOf(code) });
        }
      }
    }, 60_000);
  });
}
