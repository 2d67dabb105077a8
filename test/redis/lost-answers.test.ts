/**
 * Between a relay and its Redis a reply is late, lost or never read, and Redis has
 * executed the command. Most of these tests wait, so they run at the same time.
 */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { SCRIPTS } from '../../src/stores/redis/scripts.ts';
import { poll, pollOnce, pollUntilDone, start, startWithCode } from '../kit/device.ts';
import { EXCHANGE_LEASE_MS, EXCHANGE_TIMEOUT_MS } from '../kit/limits.ts';
import { startTokenEndpoint, tokensFor } from '../kit/provider.ts';
import { untilFrozen } from '../kit/redis/server.ts';
import { type RelayProcess, startRelay } from '../kit/relay.ts';
import { type CutOffPair, startCutOffPair, untilSessionIs } from '../kit/relay-pair.ts';
import { openRaw } from '../kit/sockets.ts';
import {
  bringCode,
  continueWithCode,
  decide,
  makeCode,
  startWhenPossible,
  textOf,
} from '../kit/user.ts';

setDefaultTimeout(150_000);

/** Pairs of relays that the tests take in turn: a pair for each test would be too much for a small machine. */
const pairs = await Promise.all(Array.from({ length: 4 }, () => startCutOffPair()));
const free = [...pairs];
const waiting: ((pair: CutOffPair) => void)[] = [];
afterAll(() => Promise.all(pairs.map((pair) => pair[Symbol.asyncDispose]())));

async function takePair(): Promise<CutOffPair> {
  const pair = free.pop() ?? (await new Promise<CutOffPair>((take) => waiting.push(take)));
  async function giveBack(): Promise<void> {
    process.kill(pair.cutOff.pid, 'SIGCONT');
    pair.proxy.stall(false);
    // Until it has recovered from what the test did to it.
    await pollOnce(pair.cutOff, (await startWhenPossible(pair.cutOff)).session);
    await pair.redis.cli('FLUSHALL');
    const next = waiting.shift();
    if (next) next(pair);
    else free.push(pair);
  }
  return { ...pair, [Symbol.asyncDispose]: giveBack };
}

/** A completed session, and what its device should receive. */
async function complete({ other }: CutOffPair) {
  const { session, state } = await start(other);
  const code = makeCode();
  expect((await bringCode(other, state, code)).status).toBe(200);
  return { session, tokens: tokensFor(code) };
}

describe.concurrent('a claim that Redis has executed, and of which the relay does not know yet', () => {
  /** A completed session, and a poll at the relay that is cut off. */
  async function startUnknownClaim(pair: CutOffPair) {
    const { redis, proxy, cutOff } = pair;
    const { session, tokens } = await complete(pair);
    const asked = proxy.stallFrom(SCRIPTS.commit.sha1, 'replies');
    const device = openRaw(cutOff.baseUrl);
    await device.send(`GET /auth/result?session=${session} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await asked;
    await untilSessionIs(redis, 'ended');
    return { session, tokens, device };
  }

  test('its relay is killed: the device may have its tokens, so no other poll gets them', async () => {
    await using pair = await startCutOffPair();
    const { session, device } = await startUnknownClaim(pair);
    await pair.cutOff.stop('SIGKILL');
    await device.closed;
    expect(await pollUntilDone([pair.other], session)).toBe('gone');
  });

  test('its device stays: it gets the tokens, and a second poll gets a 410', async () => {
    await using pair = await takePair();
    const { session, tokens, device } = await startUnknownClaim(pair);
    expect((await pollOnce(pair.other, session)).status).toBe(410);
    pair.proxy.stall(false);
    expect(await device.until('}')).toContain(JSON.stringify(tokens));
    expect((await pollOnce(pair.other, session)).status).toBe(410);
  });
});

/** The user is asked to try again. */
describe.concurrent('a relay gives up waiting for the reply', () => {
  test("to a lease: a 503 page, no code is sent, and the lease's end reaches the device", async () => {
    await using pair = await takePair();
    const { redis, proxy, cutOff, other, provider } = pair;
    const { session, state } = await start(other);
    const code = makeCode();
    const asked = proxy.stallFrom(SCRIPTS.commit.sha1, 'replies');
    const page = bringCode(cutOff, state, code);
    await asked;
    await untilSessionIs(redis, 'exchanging');
    expect((await page).status).toBe(503);
    proxy.stall(false);
    expect(await pollUntilDone([other], session)).toEqual({ error: 'exchange_failed' });
    expect(provider.requestsFor(code)).toBe(0);
  });

  test.each(['read', 'commit'] as const)(
    'to "%s" of a user with a code: the page is 503, and a second tap redirects',
    async (verb) => {
      await using pair = await takePair();
      const { proxy, cutOff, other } = pair;
      const { link, state, session } = await startWithCode(other);
      const asked = proxy.stallFrom(SCRIPTS[verb].sha1, 'replies');
      const page = decide(cutOff, link);
      await asked;
      expect((await page).status).toBe(503);
      proxy.stall(false);
      for (const relay of [other, other]) expect(await continueWithCode(relay, link)).toBe(state);
      const code = makeCode();
      expect((await bringCode(other, state, code)).status).toBe(200);
      expect(await pollUntilDone([other], session)).toEqual(tokensFor(code));
    },
  );

  test('to Decline: the page is 503, and a second tap shows that it was cancelled', async () => {
    await using pair = await takePair();
    const { proxy, cutOff, other } = pair;
    const { link, session } = await startWithCode(other);
    const asked = proxy.stallFrom(SCRIPTS.commit.sha1, 'replies');
    const page = decide(cutOff, link, 'decline');
    await asked;
    expect((await page).status).toBe(503);
    proxy.stall(false);
    expect(await pollUntilDone([other], session)).toEqual({ error: 'access_denied' });
    const again = await decide(other, link, 'decline');
    expect(again.status).toBe(200);
    expect(await textOf(again)).toContain('Sign-in cancelled');
  });
});

/** SIGSTOP; the live migration of a virtual machine does the same. */
describe.concurrent('a relay is suspended between asking and reading the answer', () => {
  /** Longer than a relay waits for Redis: its deadlines have passed when it continues. */
  const LONG_MS = 7_000;
  const MEANWHILE = ['the reply arrives', 'the connection is lost'] as const;

  async function suspend({ pid }: RelayProcess): Promise<void> {
    process.kill(pid, 'SIGSTOP');
    await untilFrozen(pid);
  }

  async function suspendFor(
    ms: number,
    { cutOff, proxy }: CutOffPair,
    meanwhile: (typeof MEANWHILE)[number] = 'the reply arrives',
  ): Promise<void> {
    await suspend(cutOff);
    if (meanwhile === 'the connection is lost') proxy.cutAll();
    proxy.stall(false);
    await Bun.sleep(ms);
    process.kill(cutOff.pid, 'SIGCONT');
  }

  test.each(MEANWHILE)(
    'Redis for a claim; %s: the device gets its tokens, and no 204',
    async (meanwhile) => {
      await using pair = await takePair();
      const { session, tokens } = await complete(pair);
      const asked = pair.proxy.stallFrom(SCRIPTS.commit.sha1, 'replies');
      const answer = poll(pair.cutOff, session);
      await asked;
      await untilSessionIs(pair.redis, 'ended');
      await suspendFor(LONG_MS, pair, meanwhile);
      expect([(await answer).status, await (await answer).json()]).toEqual([200, tokens]);
    },
  );

  test.each(MEANWHILE)(
    'Redis for a lease; %s: the code is exchanged, the user is signed in',
    async (meanwhile) => {
      await using pair = await takePair();
      const { session, state } = await start(pair.other);
      const code = makeCode();
      const asked = pair.proxy.stallFrom(SCRIPTS.commit.sha1, 'replies');
      const page = bringCode(pair.cutOff, state, code);
      await asked;
      await untilSessionIs(pair.redis, 'exchanging');
      await suspendFor(LONG_MS, pair, meanwhile);
      expect((await page).status).toBe(200);
      expect(pair.provider.requestsFor(code)).toBe(1);
      expect(await pollUntilDone([pair.other], session)).toEqual(tokensFor(code));
    },
  );

  test('Redis for a completion: the user is signed in, however late the relay continues', async () => {
    await using pair = await takePair();
    const { session, state } = await start(pair.other);
    const code = makeCode();
    const held = pair.provider.gate.close();
    const page = bringCode(pair.cutOff, state, code);
    await held.arrived;
    const asked = pair.proxy.stallFrom(SCRIPTS.commit.sha1, 'replies');
    held.release();
    await asked;
    await untilSessionIs(pair.redis, 'completed');
    await suspendFor(EXCHANGE_LEASE_MS + 1_000, pair);
    expect((await page).status).toBe(200);
    expect(await pollUntilDone([pair.other], session)).toEqual(tokensFor(code));
  });

  test('a provider for tokens: the tokens are read', async () => {
    using provider = startTokenEndpoint();
    const relay = await startRelay({ MAL_TOKEN_URL: provider.tokenUrl });
    const { session, state } = await start(relay);
    const code = makeCode();
    const held = provider.gate.close();
    const page = bringCode(relay, state, code);
    await held.arrived;
    await suspend(relay);
    held.release();
    await Bun.sleep(EXCHANGE_TIMEOUT_MS + 1_000);
    process.kill(relay.pid, 'SIGCONT');
    expect((await page).status).toBe(200);
    expect(await pollUntilDone([relay], session)).toEqual(tokensFor(code));
    await relay.stop('SIGKILL');
  });
});
