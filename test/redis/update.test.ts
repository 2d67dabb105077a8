/**
 * A rolling update: a relay from before scripts became files and this one share a Redis,
 * and no sign-in is lost, whichever of them a request comes to (docs/scaling.md "Updating").
 * test/stores/seal.test.ts reads recorded records of that version, also without its sources.
 */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import { pollUntilDone, start, startWithCode } from '../kit/device.ts';
import { unpackOldRelease } from '../kit/old-release.ts';
import { tokensFor } from '../kit/provider.ts';
import { startRedis } from '../kit/redis/server.ts';
import type { RelayProcess } from '../kit/relay.ts';
import { park, signIn, startRelayPair, tally } from '../kit/relay-pair.ts';
import { bringCode, continueWithCode, makeCode } from '../kit/user.ts';

setDefaultTimeout(60_000);

await testUpdate();

async function testUpdate(): Promise<void> {
  const before = await unpackOldRelease();
  afterAll(before.remove);
  const redis = await startRedis();
  const command = [process.execPath, before.main];
  const pair = await startRelayPair(redis.url, {
    each: [{ command, cwd: join(before.main, '../..') }, {}],
  });
  afterAll(async () => {
    await pair[Symbol.asyncDispose]();
    await redis.stop();
  });
  const byName = { before: pair.relays[0], after: pair.relays[1] };
  const names = ['before', 'after'] as const;
  const WAYS = names.flatMap((started) =>
    names.flatMap((polled) => names.map((opened) => ({ started, polled, opened }))),
  );
  const relaysOf = ({ started, polled, opened }: (typeof WAYS)[number]) =>
    [byName[started], byName[polled], byName[opened]] as [RelayProcess, RelayProcess, RelayProcess];

  describe('started, polled and opened at the relay before the update or after it', () => {
    test.each(WAYS)('$started, $polled, $opened: by link, with a parked poll', async (way) => {
      const [started, polled, opened] = relaysOf(way);
      const { session, state } = await start(started);
      const parked = await park(polled, session);
      expect((await opened.ask(`/auth/mal?state=${state}`)).status).toBe(302);
      const code = makeCode();
      expect((await bringCode(opened, state, code)).status).toBe(200);
      expect(await (await parked.answer).json()).toEqual(tokensFor(code));
    });

    test.each(WAYS)('$started, $polled, $opened: by code, polled afterwards', async (way) => {
      const [started, polled, opened] = relaysOf(way);
      const { session, link } = await startWithCode(started);
      const state = await continueWithCode(opened, link);
      const code = makeCode();
      expect((await bringCode(opened, state, code)).status).toBe(200);
      expect(await pollUntilDone([polled], session)).toEqual(tokensFor(code));
      for (const relay of pair.relays) {
        expect(await pollUntilDone([relay], session)).toBe('gone');
      }
    });
  });

  test('200 sign-ins, each polled at both at once: none is lost or delivered twice', async () => {
    const signIns = await Promise.all(
      Array.from({ length: 200 }, (_, nth) =>
        signIn(nth % 2 === 0 ? pair.relays : pair.relays.toReversed()),
      ),
    );
    expect(tally(signIns)).toMatchObject({ delivered: 200, doubled: 0, lost: 0, wrong: 0 });
  });
}
