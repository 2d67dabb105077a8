/** hazards.md §1b, Leak check: nothing is kept of polls and sessions that are over. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createHeapCount } from '../support/heap-count.ts';
import { startLocalRelay } from '../support/local-relay.ts';
import type { RelayProcess } from '../support/relay-process.ts';
import { parkPoll, poll, startSession } from '../support/wire.ts';

const ROUNDS = 30;
/** Until the runtime has all the memory that it will want. */
const WARM_UP = 10;
const POLLS = 1_000;
const SESSIONS = 50;
/** A tenth of an object a poll; compiled code is objects too, and comes and goes. */
const ALLOWED_OBJECTS = ((ROUNDS - WARM_UP) * POLLS) / 10;
/** What is no object, such as half of a request. A poll that waits takes 5 KB (docs/performance.md). */
const ALLOWED_BYTES = (ROUNDS - WARM_UP) * POLLS * 1_000;

const heap = createHeapCount({ collects: true });
let relay: RelayProcess;
beforeAll(async () => {
  relay = await startLocalRelay({ ...heap.env, MAL_CLIENT_ID: 'mal-client', START_BURST: '10000' });
});
afterAll(async () => {
  await relay.stop();
  heap[Symbol.dispose]();
});

/** Parks polls, lets one half leave and the other be answered. */
async function parkAndRelease(): Promise<void> {
  const sessions = await Promise.all(
    Array.from({ length: SESSIONS }, () => startSession(relay.baseUrl, 'mal')),
  );
  const polls = Array.from({ length: POLLS }, (_, index) =>
    parkPoll(relay.baseUrl, sessions[index % SESSIONS]?.session ?? ''),
  );
  await Promise.all(polls.map(({ sent }) => sent));
  await poll(relay.baseUrl, 'unknown');
  for (const { leave } of polls.slice(0, POLLS / 2)) leave();
  for (const { state } of sessions) {
    await fetch(`${relay.baseUrl}/auth/mal/callback?state=${state}&error=access_denied`);
  }
  await Promise.all(polls.map(({ closed }) => closed));
}

async function keep() {
  const objects = await heap.countObjects(relay.pid);
  return { objects, bytes: relay.residentBytes() };
}

test(`${ROUNDS} rounds of ${POLLS} parked polls leave no more behind than ${WARM_UP}`, async () => {
  for (let round = 0; round < WARM_UP; round += 1) await parkAndRelease();
  const before = await keep();
  for (let round = WARM_UP; round < ROUNDS; round += 1) await parkAndRelease();
  const after = await keep();
  expect(after.objects - before.objects).toBeLessThan(ALLOWED_OBJECTS);
  expect(after.bytes - before.bytes).toBeLessThan(ALLOWED_BYTES);
}, 120_000);

test('a device that leaves 150 times over at odd moments loses no tokens', async () => {
  for (let round = 0; round < 150; round += 1) {
    const { session, state } = await startSession(relay.baseUrl, 'mal');
    const device = new AbortController();
    const left = poll(relay.baseUrl, session, { signal: device.signal }).catch(() => 'left');
    if (round % 3 !== 0) await poll(relay.baseUrl, 'unknown');
    device.abort();
    await left;
    // The relay learns of the closed connection with the next thing it reads.
    await poll(relay.baseUrl, 'unknown');
    await fetch(`${relay.baseUrl}/auth/mal/callback?state=${state}&error=access_denied`);
    expect((await poll(relay.baseUrl, session)).status).toBe(200);
  }
});
