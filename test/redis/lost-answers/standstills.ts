/** A relay stands still (SIGSTOP; a virtual machine that is moved does the same) between asking Redis and reading the answer. */
import { describe, expect, test } from 'bun:test';
import { EXCHANGE_LEASE_MS, EXCHANGE_TIMEOUT_MS } from '../../../src/limits.ts';
import { USE_CODE } from '../../../src/stores/redis-scripts.ts';
import { startLocalRelay } from '../../support/local-relay.ts';
import { untilFrozen } from '../../support/redis/redis-process.ts';
import type { RelayProcess } from '../../support/relay-process.ts';
import { poll, startSession, startSessionWithCode } from '../../support/wire.ts';
import {
  type CutOffPair,
  goOn,
  startCutOffPair,
  untilCodeIs,
  untilSessionIs,
} from '../support/cut-off-pair.ts';
import { pollUntilDone } from '../support/device.ts';
import { bringCode, makeCode } from '../support/person.ts';
import { startTokenEndpoint, tokenOf } from '../support/token-endpoint.ts';

/** Longer than a relay waits for Redis altogether: its deadline and its patience are over when it wakes. */
const LONG_MS = 7_000;

/** While the relay stands still, the answer arrives in its socket, or its connections to Redis are cut. */
const MEANWHILE = [
  ['the answer arrives', 'arrives'],
  ['the connection is lost', 'is lost'],
] as const;

type Meanwhile = (typeof MEANWHILE)[number][1];

async function freeze({ pid }: RelayProcess): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  await untilFrozen(pid);
}

async function standStill(
  { cutOff, proxy }: CutOffPair,
  ms: number,
  meanwhile: Meanwhile,
): Promise<void> {
  await freeze(cutOff);
  if (meanwhile === 'is lost') proxy.cutAll();
  proxy.stall(false);
  await Bun.sleep(ms);
  process.kill(cutOff.pid, 'SIGCONT');
}

async function completeAt(relay: RelayProcess) {
  const { session, state } = await startSession(relay.baseUrl, 'mal');
  const code = makeCode();
  expect((await bringCode(relay, state, code)).status).toBe(200);
  return { session, tokens: { accessToken: tokenOf(code) } };
}

export function testStandstills(): void {
  describe.concurrent('a relay stands still between asking Redis and reading the answer', () => {
    test.each(MEANWHILE)(
      'to a claim, and %s: the device gets its tokens, and is never told to come again',
      async (_, meanwhile) => {
        await using stack = new AsyncDisposableStack();
        const pair = await startCutOffPair(stack);
        const { session, tokens } = await completeAt(pair.other);
        pair.proxy.stall('replies');
        const answer = poll(pair.cutOff.baseUrl, session);
        await untilSessionIs(pair.redis, 'd');
        await standStill(pair, LONG_MS, meanwhile);
        expect((await answer).status).toBe(200);
        expect(await (await answer).json()).toEqual(tokens);
      },
      60_000,
    );

    test('to a claim, and the device leaves meanwhile: its next poll gets the tokens', async () => {
      await using stack = new AsyncDisposableStack();
      const pair = await startCutOffPair(stack);
      for (const next of [pair.cutOff, pair.other]) {
        const { session, tokens } = await completeAt(pair.other);
        pair.proxy.stall('replies');
        const device = new AbortController();
        const left = poll(pair.cutOff.baseUrl, session, { signal: device.signal });
        await untilSessionIs(pair.redis, 'd');
        await freeze(pair.cutOff);
        pair.proxy.stall(false);
        // Redis's answer is there before the end of the device's connection.
        await pair.redis.cli('PING');
        device.abort();
        await left.catch(() => {});
        await standStill(pair, LONG_MS, 'arrives');
        expect(await pollUntilDone([next], session)).toEqual(tokens);
        await pair.redis.cli('FLUSHALL');
      }
    }, 60_000);

    test.each(MEANWHILE)(
      'to a lease, and %s: the code is exchanged, the person has signed in',
      async (_, meanwhile) => {
        await using stack = new AsyncDisposableStack();
        const pair = await startCutOffPair(stack);
        const { session, state } = await startSession(pair.other.baseUrl, 'mal');
        const code = makeCode();
        pair.proxy.stall('replies');
        const page = bringCode(pair.cutOff, state, code);
        await untilSessionIs(pair.redis, 'x');
        await standStill(pair, LONG_MS, meanwhile);
        expect((await page).status).toBe(200);
        expect(pair.provider.exchangesOf(code)).toBe(1);
        expect(await pollUntilDone([pair.other], session)).toEqual({ accessToken: tokenOf(code) });
      },
      60_000,
    );

    test('to a completion: the person has signed in, however late the relay wakes', async () => {
      await using stack = new AsyncDisposableStack();
      const pair = await startCutOffPair(stack);
      const { session, state } = await startSession(pair.other.baseUrl, 'mal');
      const code = makeCode();
      const held = pair.provider.gate.close();
      const page = bringCode(pair.cutOff, state, code);
      await held.arrived;
      pair.proxy.stall('replies');
      held.release();
      await untilSessionIs(pair.redis, 'c');
      await standStill(pair, EXCHANGE_LEASE_MS + 1_000, 'arrives');
      expect((await page).status).toBe(200);
      expect(await pollUntilDone([pair.other], session)).toEqual({ accessToken: tokenOf(code) });
    }, 60_000);

    test.each(MEANWHILE)(
      'to the use of a code, and %s: the person goes on',
      async (_, meanwhile) => {
        await using stack = new AsyncDisposableStack();
        const pair = await startCutOffPair(stack);
        const { link } = await startSessionWithCode(pair.other.baseUrl, 'mal');
        const asked = pair.proxy.stallRepliesTo(USE_CODE.sha1);
        const decided = goOn(pair.cutOff, link);
        await asked;
        await untilCodeIs(pair.redis, 'used');
        await standStill(pair, LONG_MS, meanwhile);
        expect((await decided).status).toBe(303);
      },
      60_000,
    );
  });

  test.concurrent('a relay stands still between asking a provider and reading its answer: the tokens are read', async () => {
    await using stack = new AsyncDisposableStack();
    const provider = startTokenEndpoint();
    stack.defer(() => provider.stop());
    const env = { MAL_CLIENT_ID: 'mal-client', MAL_TOKEN_URL: provider.tokenUrl };
    const relay = await startLocalRelay(env);
    stack.defer(async () => void (await relay.stop('SIGKILL')));
    const { session, state } = await startSession(relay.baseUrl, 'mal');
    const code = makeCode();
    const held = provider.gate.close();
    const page = bringCode(relay, state, code);
    await held.arrived;
    await freeze(relay);
    held.release();
    await Bun.sleep(EXCHANGE_TIMEOUT_MS + 1_000);
    process.kill(relay.pid, 'SIGCONT');
    expect((await page).status).toBe(200);
    expect(await pollUntilDone([relay], session)).toEqual({ accessToken: tokenOf(code) });
  }, 60_000);
}
