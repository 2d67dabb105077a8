/** Durable Objects that are reset, replaced by a new version or refused storage; browsers and devices that leave. docs/cloudflare.md. */
import { describe, expect, test } from 'bun:test';
import type { Socket } from 'node:net';
import { poll, pollOnce, pollUntilDone, refresh, start, startRequest } from '../kit/device.ts';
import { newFolder } from '../kit/folder.ts';
import { serveBytes, startTokenEndpoint, tokensFor } from '../kit/provider.ts';
import { plantSecret } from '../kit/secrets.ts';
import { bringCode, makeCode, startExchanging } from '../kit/user.ts';
import { pollUntil } from '../kit/wait.ts';
import { startWorkers } from '../kit/workers.ts';

const ENTRY = 'test/workers/faulty-worker.ts';

const provider = startTokenEndpoint();
const relay = await startWorkers(
  { MAL_TOKEN_URL: provider.tokenUrl, START_BURST: '1000' },
  { entry: ENTRY },
);

const tell = async (fault: string) => void (await relay.ask(`/test/${fault}`));

describe('an object that is reset', () => {
  test('a parked poll gets a 204, and the next one waits for the tokens', async () => {
    const { session, state } = await start(relay);
    const before = relay.events('poll_waiting').length;
    const parked = poll(relay, session);
    await relay.untilParked(before + 1);
    await tell('abort');
    expect((await parked).status).toBe(204);
    const code = makeCode();
    const polled = poll(relay, session);
    await relay.untilParked(before + 2);
    expect((await bringCode(relay, state, code)).status).toBe(200);
    expect(await (await polled).json()).toEqual(tokensFor(code));
    await relay.waitForEvents('object_failed', 1);
  });

  test('in the middle of an exchange: the code is not sent again, the session stays', async () => {
    const { session, state, code, page, release } = await startExchanging(relay, provider);
    await tell('abort');
    release();
    expect(await page).toBe(503);
    expect((await bringCode(relay, state, code)).status).toBe(404);
    expect(provider.requestsFor(code)).toBe(1);
    expect((await pollOnce(relay, session)).status).toBe(204);
  });
});

test('a browser that leaves in the middle of an exchange: the device gets the tokens', async () => {
  const browser = new AbortController();
  const { session, code, page, release } = await startExchanging(relay, provider, {
    signal: browser.signal,
  });
  browser.abort();
  expect(await page).toBe('cut');
  release();
  expect(await pollUntilDone([relay], session)).toEqual(tokensFor(code));
});

test('a kept connection that the provider closes as it is used again costs no sign-in', async () => {
  const token = plantSecret(`token-${makeCode()}`);
  const body = JSON.stringify({ access_token: token });
  const used = new WeakSet<Socket>();
  using closing = await serveBytes((socket, _, request) => {
    if (!request.startsWith('POST')) return;
    if (used.has(socket)) return void socket.destroy();
    used.add(socket);
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  });
  await using own = await startWorkers({ MAL_TOKEN_URL: closing.url });
  for (const _ of [1, 2]) {
    const { session, state } = await start(own);
    expect((await bringCode(own, state, makeCode())).status).toBe(200);
    expect(await pollUntilDone([own], session)).toEqual({ accessToken: token });
  }
});

test('a storage that refuses: starts and callbacks get a 503, polls wait, all is kept', async () => {
  const { session, state } = await start(relay);
  await tell('fill');
  const code = makeCode();
  expect((await relay.ask('/auth/start', startRequest())).status).toBe(503);
  expect((await bringCode(relay, state, code)).status).toBe(503);
  expect((await pollOnce(relay, session)).status).toBe(204);
  expect(await (await relay.ask('/ready')).text()).toContain('SQLITE_FULL');
  await tell('empty');
  expect((await bringCode(relay, state, code)).status).toBe(200);
  expect(await pollUntilDone([relay], session)).toEqual(tokensFor(code));
  expect((await relay.ask('/ready')).status).toBe(200);
  const refusals = await relay.waitForEvents('store_refuses', 1);
  expect(refusals.map(({ reason }) => reason)).toEqual(['SQLITE_FULL']);
  const [over] = await relay.waitForEvents('store_accepts', 1);
  expect(over?.reason).toBe('SQLITE_FULL');
});

test('after a deploy or a crash the new version continues the sign-ins', async () => {
  const storage = newFolder();
  const env = { MAL_TOKEN_URL: provider.tokenUrl };
  const old = await startWorkers(env, { storage });
  const [first, second] = [await start(old), await start(old, 'mal', { code: true })];
  const code = makeCode();
  await bringCode(old, first.state, code);
  await old.kill();
  await old[Symbol.asyncDispose]();
  const changed = { ...env, APP_NAME: 'Changed', OAUTH_BASE_URL: old.baseUrl };
  await using replaced = await startWorkers(changed, { storage, port: old.port });
  expect(await pollUntilDone([replaced], first.session)).toEqual(tokensFor(code));
  expect(await (await replaced.ask(second.link)).text()).toContain('Changed');
  const later = makeCode();
  expect((await bringCode(replaced, second.state, later)).status).toBe(200);
  expect(await pollUntilDone([replaced], second.session)).toEqual(tokensFor(later));
});

test('an alarm removes what has expired; without rows there is none', async () => {
  await using short = await startWorkers({ SESSION_SECONDS: '1' }, { entry: ENTRY });
  const state = async () => (await short.ask('/test/state')).json();
  expect(await state()).toEqual({ rows: [], alarmAtMs: null });
  const startedAtMs = Date.now();
  await start(short);
  const { rows, alarmAtMs } = await state();
  expect(rows).toEqual(['session']);
  expect(alarmAtMs).toBeGreaterThanOrEqual(startedAtMs + 61_000);
  await pollUntil('an alarm after it has expired', async () => {
    await short.ask('/test/sweep');
    return (await state()).rows.length === 0;
  });
  expect(await short.waitForEvents('sign_in_expired', 1)).toMatchObject([{ stage: 'started' }]);
  expect(await state()).toEqual({ rows: [], alarmAtMs: null });
  await start(short);
  expect((await state()).alarmAtMs).toBeGreaterThanOrEqual(alarmAtMs);
});

test('a row that expires sooner than the others has the alarm sooner', async () => {
  const env = { MAL_TOKEN_URL: provider.tokenUrl };
  await using own = await startWorkers(env, { entry: ENTRY });
  const findAlarm = async (): Promise<number> =>
    (await (await own.ask('/test/state')).json()).alarmAtMs;
  await start(own);
  const atMs = await findAlarm();
  await refresh(own, 'a refresh token');
  expect(await findAlarm()).toBeLessThan(atMs - 300_000);
  // The alarm leaves what has not expired, and sets the next one for it.
  await own.ask('/test/sweep');
  expect(await findAlarm()).toBeLessThan(atMs - 300_000);
});
