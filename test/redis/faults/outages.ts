/** The store is away for a while: killed and started again, or frozen. hazards.md §1d. */
import { describe, expect, test } from 'bun:test';
import { startRedis } from '../../support/redis/start-redis.ts';
import type { RelayProcess } from '../../support/relay-process.ts';
import { poll, startSession } from '../../support/wire.ts';
import { park, pollUntilDone } from '../support/device.ts';
import { bringCode, makeCode } from '../support/person.ts';
import { LONG_POLL_SECONDS, startRelayPair } from '../support/relay-pair.ts';
import { tokenOf } from '../support/token-endpoint.ts';

const OUTAGE_MS = Number(process.env.TEST_OUTAGE_MS ?? 10_000);
/** By then everything works again, says the issue. */
const RECOVERY_MS = 1_000;
const TIMEOUT_MS = OUTAGE_MS + 60_000;

/** One relay holds its polls beyond the outage, the other one's come and go meanwhile. */
async function setUp(stack: AsyncDisposableStack) {
  const redis = await startRedis();
  stack.defer(() => redis.stop());
  const pair = await startRelayPair(redis.url, {
    each: [{ env: { POLL_SECONDS: LONG_POLL_SECONDS } }, { env: { POLL_SECONDS: '2' } }],
  });
  stack.use(pair);
  return { redis, ...pair };
}

async function start({ baseUrl }: RelayProcess): Promise<[number, string]> {
  const response = await fetch(`${baseUrl}/auth/start`, {
    method: 'POST',
    body: JSON.stringify({ service: 'mal' }),
  });
  return [response.status, response.status === 200 ? '' : await response.text()];
}

function acknowledge({ baseUrl }: RelayProcess, session: string): Promise<Response> {
  return fetch(`${baseUrl}/auth/result?session=${session}&ack=1`);
}

/** Both relays work, and a poll that is parked at one is woken by the other. */
async function expectAllWorks(relays: readonly [RelayProcess, RelayProcess]): Promise<void> {
  for (const [waiting, finishing] of [relays, relays.toReversed()] as const) {
    if (waiting === undefined || finishing === undefined) throw new Error('two relays');
    const { session, state } = await startSession(finishing.baseUrl, 'mal');
    const parked = await park(waiting, session);
    const code = makeCode();
    expect((await bringCode(finishing, state, code)).status).toBe(200);
    expect(await (await parked.answer).json()).toEqual({ accessToken: tokenOf(code) });
  }
}

export function testOutages(): void {
  describe.concurrent(`Redis is away for ${OUTAGE_MS} ms`, () => {
    test(
      'killed: polls 204, starts 503, no code spent; it comes back empty and all works',
      async () => {
        await using stack = new AsyncDisposableStack();
        const { redis, relays, provider } = await setUp(stack);
        const [a, b] = relays;
        const parkedSession = await startSession(a.baseUrl, 'mal');
        const calledBack = await startSession(b.baseUrl, 'mal');
        const parked = [await park(a, parkedSession.session), await park(b, parkedSession.session)];
        await redis.kill();
        const over = Bun.sleep(OUTAGE_MS);
        const code = makeCode();
        for (const relay of relays) {
          expect(await start(relay)).toEqual([503, 'Server busy\n']);
          expect((await bringCode(relay, calledBack.state, code)).status).toBe(503);
        }
        expect((await poll(b.baseUrl, calledBack.session)).status).toBe(204);
        await over;
        await redis.restart();
        const answers = await Promise.all(parked.map(({ answer }) => answer));
        expect(answers.map(({ status }) => status)).toEqual([204, 204]);
        // What Redis has forgotten nobody may bring to the provider.
        expect((await bringCode(a, calledBack.state, code)).status).toBe(404);
        expect(provider.exchangesOf(code)).toBe(0);
        await Bun.sleep(RECOVERY_MS);
        await expectAllWorks(relays);
      },
      TIMEOUT_MS,
    );

    test(
      'frozen: polls 204, starts 503, no code spent; sessions live on and all works',
      async () => {
        await using stack = new AsyncDisposableStack();
        const { redis, relays, provider } = await setUp(stack);
        const [a, b] = relays;
        const parkedSession = await startSession(a.baseUrl, 'mal');
        const calledBack = await startSession(b.baseUrl, 'mal');
        const exchanging = await startSession(b.baseUrl, 'mal');
        const completed = await startSession(a.baseUrl, 'mal');
        const codes = { calledBack: makeCode(), exchanging: makeCode(), completed: makeCode() };
        await bringCode(a, completed.state, codes.completed);
        const parked = [await park(a, parkedSession.session), await park(b, parkedSession.session)];
        const waiting = await park(b, exchanging.session);
        const held = provider.gate.close();
        const page = bringCode(a, exchanging.state, codes.exchanging);
        await held.arrived;

        await redis.freeze();
        const over = Bun.sleep(OUTAGE_MS);
        held.release();
        const starts = relays.map(start);
        const early = relays.map((relay) => bringCode(relay, calledBack.state, codes.calledBack));
        const claims = relays.map((relay) => pollUntilDone([relay], completed.session));
        const acknowledged = acknowledge(b, calledBack.session);
        for (const answer of starts) expect(await answer).toEqual([503, 'Server busy\n']);
        for (const answer of early) expect((await answer).status).toBe(503);
        expect((await acknowledged).status).toBe(503);
        const device = pollUntilDone([b], exchanging.session);
        await over;
        redis.thaw();

        const answers = await Promise.all(parked.map(({ answer }) => answer));
        expect(answers.map(({ status }) => status)).toEqual([204, 204]);
        expect((await page).status).toBe(200);
        expect((await waiting.answer).status).toBe(204);
        expect(await device).toEqual({ accessToken: tokenOf(codes.exchanging) });
        expect(await Promise.all(claims)).toContainEqual({ accessToken: tokenOf(codes.completed) });
        expect(provider.exchangesOf(codes.calledBack)).toBe(0);
        expect((await bringCode(b, calledBack.state, codes.calledBack)).status).toBe(200);
        expect(await pollUntilDone(relays, calledBack.session)).toEqual({
          accessToken: tokenOf(codes.calledBack),
        });
        await Bun.sleep(RECOVERY_MS);
        await expectAllWorks(relays);
      },
      TIMEOUT_MS,
    );
  });
}
