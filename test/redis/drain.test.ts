/** SIGTERM in the middle of traffic, over Redis: for each code that was spent the tokens are delivered (docs/operating.md). */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { SCRIPTS } from '../../src/stores/redis/scripts.ts';
import { poll, pollUntilDone, start } from '../kit/device.ts';
import { DRAIN_FLUSH_MS } from '../kit/limits.ts';
import { tokensFor } from '../kit/provider.ts';
import { startRedis } from '../kit/redis/server.ts';
import type { RelayProcess } from '../kit/relay.ts';
import { startCutOffPair, startRelayPair, untilSessionIs } from '../kit/relay-pair.ts';
import { openRaw, statusOf } from '../kit/sockets.ts';
import { bringCode, makeCode } from '../kit/user.ts';

setDefaultTimeout(60_000);

const redis = await startRedis();
afterAll(() => redis.stop());

/** Longer than responses may take: a relay that overlooks what is in progress has ended by then. */
const untilFlushed = (exited: Promise<number>) =>
  Promise.race([exited, Bun.sleep(DRAIN_FLUSH_MS + 1_000)]);

const CALLBACKS = 150;

/** A sign-in whose callback is sent but for its last part. */
async function prepareSignIn(relay: RelayProcess) {
  const { session, state } = await start(relay);
  const connection = openRaw(relay.baseUrl);
  await connection.send('GET /auth/mal/callback?');
  const code = makeCode();
  const rest = `${new URLSearchParams({ state, code })} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
  return { session, state, code, page: connection.closed, send: () => connection.send(rest) };
}

test.each([0, 10, 40])(
  `%d ms after ${CALLBACKS} slow exchanges began each code is delivered or good`,
  async (afterMs) => {
    await using pair = await startRelayPair(redis.url);
    const { provider } = pair;
    const [stopping, other] = pair.relays;
    const prepare = () => prepareSignIn(stopping);
    const signIns = await Promise.all(Array.from({ length: CALLBACKS }, prepare));
    const held = provider.gate.close();
    await Promise.all(signIns.map(({ send }) => send()));
    await Bun.sleep(afterMs);
    const exited = stopping.stop('SIGTERM');
    await untilFlushed(exited);
    held.release();
    expect(await exited).toBe(0);

    let spent = 0;
    for (const { session, state, code, page } of signIns) {
      if (provider.requestsFor(code) > 0) {
        spent += 1;
      } else {
        expect(statusOf(await page)).toBe(503);
        expect((await bringCode(other, state, code)).status).toBe(200);
      }
      expect(await pollUntilDone([other], session)).toEqual(tokensFor(code));
      expect(provider.requestsFor(code)).toBe(1);
    }
    console.log(`SIGTERM after ${afterMs} ms: ${spent} of ${CALLBACKS} codes were spent`);
  },
);

test('a result whose reply from Redis this relay has not read yet is delivered', async () => {
  await using pair = await startCutOffPair();
  const { redis, proxy, cutOff: stopping, other } = pair;
  const { session, state } = await start(other);
  const code = makeCode();
  await bringCode(other, state, code);
  const asked = proxy.stallFrom(SCRIPTS.commit.sha1, 'replies');
  const answer = poll(stopping, session);
  await asked;
  await untilSessionIs(redis, 'ended');
  const exited = stopping.stop('SIGTERM');
  await untilFlushed(exited);
  proxy.stall(false);
  expect(await (await answer).json()).toEqual(tokensFor(code));
  expect(await exited).toBe(0);
});
