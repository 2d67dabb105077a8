/** A relay is killed with -9, and the other one goes on. */
import { describe, expect, test } from 'bun:test';
import { EXCHANGE_LEASE_MS, STORE_UNDO_MS } from '../../../src/limits.ts';
import { startRedis } from '../../support/redis/start-redis.ts';
import type { RelayProcess } from '../../support/relay-process.ts';
import { poll, startSession } from '../../support/wire.ts';
import { startCutOffPair, untilSessionIs } from '../support/cut-off-pair.ts';
import { park, pollUntilDone, type Result } from '../support/device.ts';
import { bringCode, makeCode } from '../support/person.ts';
import { startRelayPair } from '../support/relay-pair.ts';
import { tokenOf } from '../support/token-endpoint.ts';

/** Polls of completed sessions that are on their way when their relay is killed. */
const CLAIMS = 150;
/** Not all, so that some are certain to come too late. */
const CLAIMS_AT_ONCE = 120;
const ANSWERED_BEFORE_KILL = 10;
/** So long nobody knows that the killed relay will not undo its claims. */
const WITH_UNDECIDED_MS = STORE_UNDO_MS + 40_000;

async function startServer(stack: AsyncDisposableStack) {
  const redis = await startRedis();
  stack.defer(() => redis.stop());
  return redis;
}

async function completeOne({ baseUrl }: RelayProcess) {
  const { session, state } = await startSession(baseUrl, 'mal');
  const code = makeCode();
  expect((await bringCode({ baseUrl }, state, code)).status).toBe(200);
  return { session, code };
}

/** Undefined when the connection broke before the answer was whole. */
async function tryPoll({ baseUrl }: RelayProcess, session: string): Promise<Result | undefined> {
  try {
    return await pollUntilDone([{ baseUrl }], session);
  } catch {
    return undefined;
  }
}

export function testKilledRelays(): void {
  describe.concurrent('a relay is killed with -9', () => {
    test('while parked: the device polls the other one and is woken there', async () => {
      await using stack = new AsyncDisposableStack();
      const redis = await startServer(stack);
      const { relays } = stack.use(await startRelayPair(redis.url));
      const [killed, other] = relays;
      const { session, state } = await startSession(killed.baseUrl, 'mal');
      const cut = await park(killed, session);
      await killed.stop('SIGKILL');
      expect(await cut.answer.catch(() => 'cut')).toBe('cut');
      const parked = await park(other, session);
      const code = makeCode();
      expect((await bringCode(other, state, code)).status).toBe(200);
      expect(await (await parked.answer).json()).toEqual({ accessToken: tokenOf(code) });
    }, 30_000);

    test(
      'in mid-exchange: the lease ends, the device is told, and no code is spent twice',
      async () => {
        await using stack = new AsyncDisposableStack();
        const redis = await startServer(stack);
        const env = { POLL_SECONDS: '2' };
        const { relays, provider } = stack.use(await startRelayPair(redis.url, { env }));
        const [killed, other] = relays;
        const { session, state } = await startSession(killed.baseUrl, 'mal');
        const code = makeCode();
        const held = provider.gate.close();
        const page = bringCode(killed, state, code).catch(() => 'cut');
        await held.arrived;
        await killed.stop('SIGKILL');
        expect(await page).toBe('cut');
        held.release();
        // The lease is not over yet.
        expect((await poll(other.baseUrl, session)).status).toBe(204);
        expect((await bringCode(other, state, code)).status).toBe(404);
        expect(await pollUntilDone([other], session)).toEqual({ error: 'exchange_failed' });
        expect((await bringCode(other, state, code)).status).toBe(404);
        expect(provider.exchangesOf(code)).toBe(1);
      },
      EXCHANGE_LEASE_MS + 30_000,
    );

    test(
      'in mid-claim, nobody knows whether the device has its tokens: nobody else gets them',
      async () => {
        await using stack = new AsyncDisposableStack();
        const { redis, proxy, cutOff: killed, other } = await startCutOffPair(stack);
        const { session } = await completeOne(other);
        proxy.stall('replies');
        const cut = poll(killed.baseUrl, session).catch(() => 'cut');
        await untilSessionIs(redis, 'd');
        await killed.stop('SIGKILL');
        expect(await cut).toBe('cut');
        expect(await pollUntilDone([other], session)).toBe('gone');
      },
      WITH_UNDECIDED_MS,
    );

    test(
      `amid ${CLAIMS} claims: what it handed out is handed out nowhere else`,
      async () => {
        await using stack = new AsyncDisposableStack();
        const redis = await startServer(stack);
        const { relays } = stack.use(await startRelayPair(redis.url));
        const [killed, other] = relays;
        const sessions = await Promise.all(
          Array.from({ length: CLAIMS }, () => completeOne(other)),
        );
        let answered = 0;
        const first: (Result | undefined)[] = [];
        const left = sessions.entries();
        async function claimInTurn(): Promise<void> {
          for (const [index, { session }] of left) {
            first[index] = await tryPoll(killed, session);
            answered += 1;
            if (answered === ANSWERED_BEFORE_KILL) process.kill(killed.pid, 'SIGKILL');
          }
        }
        await Promise.all(Array.from({ length: CLAIMS_AT_ONCE }, claimInTurn));
        const second = await Promise.all(sessions.map(({ session }) => tryPoll(other, session)));
        const deliveries = sessions.map(({ code }, index) =>
          [first[index], second[index]].filter(
            (result) => typeof result === 'object' && result.accessToken === tokenOf(code),
          ),
        );
        const lost = deliveries.filter(({ length }) => length === 0).length;
        console.log(`killed amid claims: ${CLAIMS - lost} delivered, ${lost} lost`);
        expect(deliveries.filter(({ length }) => length > 1)).toEqual([]);
        expect(second).not.toContain(undefined);
        expect(first).toContain(undefined);
      },
      WITH_UNDECIDED_MS,
    );
  });
}
