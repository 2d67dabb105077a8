/** SIGTERM in the middle of traffic, over Redis: a code that was spent has its tokens delivered. */
import { afterAll, describe, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { DRAIN_FLUSH_MS } from '../../src/limits.ts';
import { deriveFromBrowserState } from '../../src/stores/seal.ts';
import { openRaw } from '../support/raw-connection.ts';
import { statusOf } from '../support/raw-http.ts';
import { startCuttingProxy } from '../support/redis/cutting-proxy.ts';
import { pollUntil } from '../support/redis/poll-until.ts';
import { startRedis } from '../support/redis/start-redis.ts';
import type { RelayProcess } from '../support/relay-process.ts';
import { plantSecret } from '../support/secrets.ts';
import { poll, startSession } from '../support/wire.ts';
import { pollUntilDone } from './support/device.ts';
import { bringCode, makeCode } from './support/person.ts';
import { startRelayPair } from './support/relay-pair.ts';
import { tokenOf } from './support/token-endpoint.ts';

const redis = await startRedis();
afterAll(() => redis.stop());

/** How many of that command Redis has carried out. */
async function commandsOf(name: string): Promise<number> {
  const stats = await redis.cli('INFO', 'commandstats');
  return Number(new RegExp(`^cmdstat_${name}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
}

const CALLBACKS = 150;

/** Longer than answers may take to leave: a relay that does not see what is under way has ended by then. */
async function untilFlushed(exited: Promise<number>): Promise<void> {
  await Promise.race([exited, Bun.sleep(DRAIN_FLUSH_MS + 1_000)]);
}

/** A sign-in whose callback is sent but for its last part. */
async function prepareSignIn({ baseUrl }: RelayProcess) {
  const { session, state } = await startSession(baseUrl, 'mal');
  const connection = openRaw(baseUrl);
  await connection.send('GET /auth/mal/callback?');
  const code = makeCode();
  const query = new URLSearchParams({ state, code });
  const sendCallback = () =>
    connection.send(`${query} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  return { session, state, code, page: connection.closed, sendCallback };
}

describe(`SIGTERM into ${CALLBACKS} callbacks with slow exchanges`, () => {
  test.each([0, 3, 10, 20, 40])(
    '%d ms after they were sent: each code that was spent has its tokens delivered',
    async (afterMs) => {
      await using pair = await startRelayPair(redis.url);
      const { provider } = pair;
      const [stopping, other] = pair.relays;
      const prepare = () => prepareSignIn(stopping);
      const signIns = await Promise.all(Array.from({ length: CALLBACKS }, prepare));
      const held = provider.gate.close();
      await Promise.all(signIns.map(({ sendCallback }) => sendCallback()));
      await Bun.sleep(afterMs);
      const exited = stopping.stop('SIGTERM');
      await untilFlushed(exited);
      held.release();
      expect(await exited).toBe(0);

      let spent = 0;
      for (const { session, state, code, page } of signIns) {
        if (provider.exchangesOf(code) > 0) {
          spent += 1;
        } else {
          // Refused, and as good as before at the next relay.
          expect(statusOf(await page)).toBe(503);
          expect((await bringCode(other, state, code)).status).toBe(200);
        }
        expect(await pollUntilDone([other], session)).toEqual({ accessToken: tokenOf(code) });
        expect(provider.exchangesOf(code)).toBe(1);
      }
      console.log(`SIGTERM after ${afterMs} ms: ${spent} of ${CALLBACKS} codes were spent`);
    },
    60_000,
  );
});

test('SIGTERM while Redis has handed a result to this relay, which has not heard of it yet: the device gets it', async () => {
  const proxy = await startCuttingProxy(redis.port);
  const prefix = 'drained-claim:';
  await using pair = await startRelayPair(redis.url, {
    env: { REDIS_PREFIX: prefix },
    each: [{ env: { REDIS_URL: proxy.url } }, {}],
  });
  const [stopping, other] = pair.relays;
  const { session, state } = await startSession(other.baseUrl, 'mal');
  const code = makeCode();
  await bringCode(other, state, code);
  // Redis knows every script, so the claim is carried out at once.
  await poll(other.baseUrl, 'unknown');
  proxy.stall('replies');
  const answer = poll(stopping.baseUrl, session);
  const key = `${prefix}session:${deriveFromBrowserState(state).id}`;
  await pollUntil('the result is claimed', async () =>
    (await redis.cli('HGET', key, 's')) === 'd' ? true : undefined,
  );
  const exited = stopping.stop('SIGTERM');
  await untilFlushed(exited);
  proxy.stall(false);
  expect(await (await answer).json()).toEqual({ accessToken: tokenOf(code) });
  expect(await exited).toBe(0);
  await proxy.stop();
}, 30_000);

test('SIGTERM while a refresh waits for another relay, which is at the provider: 503 at once, and the other one finishes it', async () => {
  await using pair = await startRelayPair(redis.url);
  const { provider } = pair;
  const [asking, stopping] = pair.relays;
  const refreshToken = plantSecret(`refresh-token-${randomUUID()}`);
  const refresh = ({ baseUrl }: RelayProcess) =>
    fetch(`${baseUrl}/oauth2/mal/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refreshToken }),
    });
  const held = provider.gate.close();
  const first = refresh(asking);
  await held.arrived;
  const before = await commandsOf('evalsha');
  const waiting = refresh(stopping);
  // Its rate limit, and then one look after the other whether the turn is free.
  await pollUntil('it waits for its turn', async () =>
    (await commandsOf('evalsha')) > before + 3 ? true : undefined,
  );
  const exited = stopping.stop('SIGTERM');
  const refused = await waiting;
  expect([refused.status, await refused.json()]).toMatchObject([
    503,
    { error: 'temporarily_unavailable' },
  ]);
  expect(await exited).toBe(0);
  held.release();
  expect((await first).status).toBe(200);
}, 30_000);
