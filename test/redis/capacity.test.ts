/** The model of docs/scaling.md "Capacity planning" (bench/capacity.ts), held to a replay of its steepest minute that one machine can carry. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { COSTS, planFor, SIGN_INS_PER_DAY, writeTable } from '../../bench/capacity.ts';
import { startRedis } from '../kit/redis/server.ts';
import { signInByLink, startRelayPair, tally } from '../kit/relay-pair.ts';
import { openTestRedis, register } from '../kit/stores.ts';

setDefaultTimeout(60_000);

const redis = await startRedis();
afterAll(() => redis.stop());

async function readStats() {
  const info = `${await redis.cli('INFO', 'stats')}\n${await redis.cli('INFO', 'commandstats')}\n${await redis.cli('INFO', 'memory')}`;
  const of = (pattern: RegExp) => Number(pattern.exec(info)?.[1] ?? 0);
  return {
    commands: of(/cmdstat_evalsha:calls=(\d+)/) + of(/cmdstat_eval:calls=(\d+)/),
    bytes: of(/total_net_input_bytes:(\d+)/) + of(/total_net_output_bytes:(\d+)/),
    memoryBytes: of(/used_memory:(\d+)/),
  };
}

test('the starts of half a steepest minute of 500,000 sign-ins a day take no more commands and bytes than in the model', async () => {
  const count = Math.round(planFor(500_000).startsPerSecond * 30);
  await using pair = await startRelayPair(redis.url);
  const [relay] = pair.relays;
  // Scripts are sent once.
  await signInByLink(relay);
  const before = await readStats();
  const signIns = [];
  for (let left = count; left > 0; left -= 50) {
    signIns.push(...(await Promise.all(Array.from({ length: 50 }, () => signInByLink(relay)))));
  }
  const after = await readStats();
  expect(tally(signIns)).toMatchObject({ doubled: 0, lost: 0, failed: 0, wrong: 0 });
  const commands = (after.commands - before.commands) / signIns.length;
  const kilobytes = (after.bytes - before.bytes) / signIns.length / 1_000;
  console.log(
    `${signIns.length} sign-ins: ${commands.toFixed(2)} scripts and ${kilobytes.toFixed(2)} KB each`,
  );
  expect(commands).toBeLessThanOrEqual(COSTS.commands);
  expect(kilobytes).toBeLessThanOrEqual(COSTS.redisKb);
});

test('its live sessions, one in nine completed, take no more memory than in the model', async () => {
  const { liveSessions } = planFor(500_000);
  const { store, close } = await openTestRedis(redis.url, { maxSessions: liveSessions });
  const result = { accessToken: 'a'.repeat(600), refreshToken: 'r'.repeat(300) };
  const before = await readStats();
  for (let left = liveSessions; left > 0; left -= 100) {
    await Promise.all(
      Array.from({ length: Math.min(left, 100) }, async (_, nth) => {
        if (nth % 9 !== 0) return register(store);
        const session = await register(store);
        await store.lease(session);
        return store.complete(session, result);
      }),
    );
  }
  const kilobytes = ((await readStats()).memoryBytes - before.memoryBytes) / liveSessions / 1_000;
  console.log(`${liveSessions} live sessions: ${kilobytes.toFixed(2)} KB each`);
  expect(kilobytes).toBeLessThanOrEqual(COSTS.sessionKb);
  close();
});

test('docs/scaling.md has the table of the model', () => {
  const page = readFileSync(new URL('../../docs/scaling.md', import.meta.url), 'utf8');
  expect(page).toContain(writeTable());
  expect(SIGN_INS_PER_DAY.length).toBeGreaterThan(3);
});
