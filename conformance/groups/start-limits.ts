/** The limits on starts: the rate for each client address, and the number of open sessions. */

import * as expect from '../answers.ts';
import { sleep, times } from '../async.ts';
import { expectResult } from '../device.ts';
import { between, equal, holds } from '../expect.ts';
import type { ClientAddress } from '../http.ts';
import { SERVICE_A, SERVICE_B } from '../options.ts';
import { cases, type Kit } from '../runner.ts';

const BURST = 3;
const STARTS_PER_SECOND = 1;

/** Sends `count` starts in a row from one address. Returns how many were accepted, and for how long the bucket was refilled at most. */
async function startRepeatedly(kit: Kit, from: ClientAddress, count: number, afterMs = 0) {
  const startedAt = performance.now();
  await sleep(afterMs);
  let accepted = 0;
  for (const _ of times(count, Number)) {
    const answer = await kit.relay.postStart({ service: SERVICE_A }, from);
    if (answer.status === 200) accepted += 1;
    else expect.text(answer, 429, 'Rate limited');
  }
  return { accepted, seconds: (performance.now() - startedAt) / 1000 };
}

/** A token bucket accepts its burst, and what has refilled it since. */
export function expectBucket({ accepted, seconds }: Accepted): void {
  between('accepted starts', accepted, BURST, BURST + Math.floor(seconds * STARTS_PER_SECOND));
}

type Accepted = Awaited<ReturnType<typeof startRepeatedly>>;

export const rateLimit = cases((test) => {
  test('Starting a sign-in; Limits: of one address three starts in a row are accepted; the next get 429 Rate limited', async (kit) => {
    const from = kit.relay.nextAddress();
    expectBucket(await startRepeatedly(kit, from, 8));
    await kit.relay.start();
    for (const _ of times(6, Number)) {
      expect.status(await kit.relay.send({ path: '/auth/result?session=nosuch', from }), 410);
    }
    expect.status(await kit.relay.send({ path: '/auth/done', from }), 200);
  });

  test('Limits: an empty bucket has a start again after a second, and three after a pause', async (kit) => {
    const from = kit.relay.nextAddress();
    const startedAt = performance.now();
    const first = await startRepeatedly(kit, from, 6);
    const second = await startRepeatedly(kit, from, 6, 1_000);
    holds('starts after a second', second.accepted >= 1, 'at least 1', second.accepted);
    // Both together, because the bucket fills during slow requests too.
    const accepted = first.accepted + second.accepted;
    expectBucket({ accepted, seconds: (performance.now() - startedAt) / 1000 });
    await sleep(6_000);
    expectBucket(await startRepeatedly(kit, from, 8));
  });

  test('Starting a sign-in: starts with a refused body count, since the limit is checked first', async (kit) => {
    const from = kit.relay.nextAddress();
    const startedAt = performance.now();
    const statuses: number[] = [];
    for (const body of ['{', '{}', '{', '{}', '{', '{}']) {
      statuses.push((await kit.relay.postStart(body, from)).status);
    }
    const accepted = statuses.filter((status) => status === 400).length;
    expectBucket({ accepted, seconds: (performance.now() - startedAt) / 1000 });
    equal('the others', new Set(statuses.filter((status) => status !== 400)), new Set([429]));
  });

  test('Starting a sign-in: requests with another method do not count, since the method is checked first', async (kit) => {
    const from = kit.relay.nextAddress();
    for (const method of ['GET', 'PUT', 'DELETE', 'GET', 'PUT']) {
      expect.notAllowed(await kit.relay.send({ method, path: '/auth/start', from }), method);
    }
    expectBucket(await startRepeatedly(kit, from, 6));
  });
});

const BUSY = 'Server busy';
/** What a run shortly before may have left: a cancelled session may count until it expires. */
const LEFT_SESSIONS = 7;
const STARTERS = 24;
/** Below the burst, in case an address was used before. */
const STARTS_PER_ADDRESS = 2;

/** Starts sessions, many at a time, until each starter gets a 503. */
async function fill({ relay, options }: Kit): Promise<void> {
  const maxTries = options.maxSessions + 2 * STARTERS;
  let tries = 0;
  const starter = async () => {
    while (tries < maxTries) {
      const from = relay.nextAddress();
      for (const _ of times(STARTS_PER_ADDRESS, Number)) {
        tries += 1;
        const answer = await relay.postStart({ service: SERVICE_A }, from);
        if (answer.status !== 200) return expect.text(answer, 503, BUSY);
      }
    }
  };
  await Promise.all(times(STARTERS, starter));
}

export const cap = cases((test) => {
  test('Starting a sign-in; Limits: beyond the maximum a start gets 503 Server busy; each claim makes room for one', async (kit) => {
    const { relay, options } = kit;
    await fill(kit);
    const started = relay.sessions();
    between(
      'accepted starts (fewer: the relay has other sessions)',
      started.length,
      options.maxSessions - LEFT_SESSIONS,
      options.maxSessions,
    );

    // The cap is checked last: every other refusal comes first.
    const start = (service = SERVICE_A) => relay.postStart({ service });
    const busy = await start(SERVICE_B);
    expect.text(busy, 503, BUSY);
    expect.notAllowed(await relay.send({ path: '/auth/start' }));
    expect.text(await relay.postStart('{'), 400, 'Invalid JSON');
    expect.text(await relay.postStart('{}'), 400, 'Unknown service');
    const from = relay.nextAddress();
    const statuses: number[] = [];
    for (const _ of times(8, Number)) {
      statuses.push((await relay.postStart({ service: SERVICE_A }, from)).status);
    }
    holds('starts in a row', statuses.includes(429), 'a 429 among them', statuses);

    // A completed session still counts. Only claiming it makes room.
    for (const session of started.slice(0, 3)) {
      expect.status(await relay.open(session), 302);
      expect.status(await relay.callback(session, { error: 'access_denied' }), 200);
      expect.text(await start(), 503, BUSY);
      await expectResult(kit, session, { error: 'access_denied' });
      expect.status(await start(), 200);
      expect.text(await start(), 503, BUSY);
    }
  });
});
