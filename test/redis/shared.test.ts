/** Two relays on one Redis go by the clock of the store (docs/scaling.md). */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { poll, start } from '../kit/device.ts';
import { startRedis } from '../kit/redis/server.ts';
import { startRelayPair } from '../kit/relay-pair.ts';
import { bringCode, makeCode } from '../kit/user.ts';

setDefaultTimeout(30_000);

const redis = await startRedis();
afterAll(() => redis.stop());

test('relays whose clocks differ by an hour agree on what has expired', async () => {
  await using pair = await startRelayPair(redis.url, {
    each: [{}, { fault: 'clock an hour ahead' }],
  });
  for (const [from, to] of [pair.relays, pair.relays.toReversed()]) {
    if (from === undefined || to === undefined) throw new Error('two relays');
    const { session, state } = await start(from);
    expect((await bringCode(to, state, makeCode())).status).toBe(200);
    expect((await poll(from, session)).status).toBe(200);
  }
});
