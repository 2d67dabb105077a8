/**
 * Between a relay and its Redis a reply is late, lost or never read, and Redis has
 * executed the command. Most of these tests wait, so they run at the same time.
 */
import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { poll, pollUntilDone, start } from '../kit/device.ts';
import { DRAIN_FLUSH_MS, EXCHANGE_LEASE_MS, EXCHANGE_TIMEOUT_MS } from '../kit/limits.ts';
import { tokensFor } from '../kit/provider.ts';
import { untilFrozen } from '../kit/redis/server.ts';
import { type CutOffPair, startCutOffPair, untilSessionIs } from '../kit/relay-pair.ts';
import { bringCode, makeCode } from '../kit/user.ts';
import { failureOf } from '../kit/wait.ts';

setDefaultTimeout(150_000);

/** Redis has delivered the result of a session to a poll, and the reply is held back. */
async function stallDelivery({ other, cutOff, proxy, redis }: CutOffPair) {
  const { session, state } = await start(other);
  const code = makeCode();
  expect((await bringCode(other, state, code)).status).toBe(200);
  const asked = proxy.stallFrom('commit');
  const answer = poll(cutOff, session);
  // A rejection counts when it is awaited.
  answer.catch(() => {});
  await asked;
  await untilSessionIs(redis, 'ended');
  return { session, tokens: tokensFor(code), answer };
}

test.concurrent('a relay is killed with a delivery: no other poll gets what its device may have', async () => {
  await using pair = await startCutOffPair();
  const { session, answer } = await stallDelivery(pair);
  await pair.cutOff.stop('SIGKILL');
  expect(await failureOf(answer)).toBeDefined();
  expect(await pollUntilDone([pair.other], session)).toBe('gone');
});

test.concurrent('SIGTERM before the reply to a delivery is read: the device gets its tokens', async () => {
  await using pair = await startCutOffPair();
  const { tokens, answer } = await stallDelivery(pair);
  const exited = pair.cutOff.stop('SIGTERM');
  // Longer than responses may take: a relay that overlooks what is in progress has ended by then.
  await Promise.race([exited, Bun.sleep(DRAIN_FLUSH_MS + 1_000)]);
  pair.proxy.stall(false);
  expect(await (await answer).json()).toEqual(tokens);
  expect(await exited).toBe(0);
});

test.concurrent('without a reply to a lease: a 503 page, no code is sent, exchange_failed', async () => {
  await using pair = await startCutOffPair();
  const { redis, proxy, cutOff, other, provider } = pair;
  const { session, state } = await start(other);
  const code = makeCode();
  const asked = proxy.stallFrom('commit');
  const page = bringCode(cutOff, state, code);
  await asked;
  await untilSessionIs(redis, 'exchanging');
  expect((await page).status).toBe(503);
  proxy.stall(false);
  expect(await pollUntilDone([other], session)).toEqual({ error: 'exchange_failed' });
  expect(provider.requestsFor(code)).toBe(0);
});

/** SIGSTOP; the live migration of a virtual machine does the same. */
describe.concurrent('a relay is suspended between asking and reading the answer', () => {
  /** Longer than a relay waits for Redis: its deadlines have passed when it continues. */
  const LONG_MS = 7_000;
  const MEANWHILE = ['the reply arrives', 'the connection is lost'] as const;

  async function suspendFor(
    ms: number,
    { cutOff, proxy }: CutOffPair,
    meanwhile: (typeof MEANWHILE)[number],
    answer = () => {},
  ): Promise<void> {
    process.kill(cutOff.pid, 'SIGSTOP');
    await untilFrozen(cutOff.pid);
    if (meanwhile === 'the connection is lost') proxy.cutAll();
    proxy.stall(false);
    answer();
    await Bun.sleep(ms);
    process.kill(cutOff.pid, 'SIGCONT');
  }

  test.each(MEANWHILE)(
    'Redis for a delivery; %s: the device gets its tokens, and no 204',
    async (meanwhile) => {
      await using pair = await startCutOffPair();
      const { tokens, answer } = await stallDelivery(pair);
      await suspendFor(LONG_MS, pair, meanwhile);
      expect([(await answer).status, await (await answer).json()]).toEqual([200, tokens]);
    },
  );

  test.each([
    ['lease', MEANWHILE[0], LONG_MS],
    ['lease', MEANWHILE[1], LONG_MS],
    ['completion', MEANWHILE[0], EXCHANGE_LEASE_MS + 1_000],
    ['token from the provider', MEANWHILE[0], EXCHANGE_TIMEOUT_MS + 1_000],
  ] as const)(
    'for a %s; %s: the code is sent once, the user is signed in',
    async (step, meanwhile, ms) => {
      await using pair = await startCutOffPair();
      const { cutOff, other, provider, proxy, redis } = pair;
      const { session, state } = await start(other);
      const code = makeCode();
      const stall = () => proxy.stallFrom('commit');
      const held = step === 'lease' ? undefined : provider.gate.close();
      const leased = step === 'lease' ? stall() : undefined;
      const page = bringCode(cutOff, state, code);
      await (leased ?? held?.arrived);
      if (step === 'completion') {
        const completed = stall();
        held?.release();
        await completed;
      }
      await untilSessionIs(redis, step === 'completion' ? 'completed' : 'exchanging');
      await suspendFor(ms, pair, meanwhile, () => held?.release());
      expect((await page).status).toBe(200);
      expect(provider.requestsFor(code)).toBe(1);
      expect(await pollUntilDone([other], session)).toEqual(tokensFor(code));
    },
  );
});
