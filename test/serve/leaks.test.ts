/** hazards.md §1b, Leak check: nothing is kept of polls and sessions that are over. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { startLocalRelay } from '../support/local-relay.ts';
import type { RelayProcess } from '../support/relay-process.ts';
import { parkPoll, poll, startSession } from '../support/wire.ts';

const ROUNDS = 30;
/** Until the runtime has all the memory that it will want. */
const WARM_UP = 10;
const POLLS = 1_000;
const SESSIONS = 50;
/** What is resident goes up and down with the garbage: the least of so many rounds says more. */
const COMPARED = 5;
/** A poll that waits takes 7 KB (docs/scaling.md). */
const ALLOWED_BYTES = (ROUNDS - WARM_UP) * POLLS * 1_000;

let relay: RelayProcess;
beforeAll(async () => {
  relay = await startLocalRelay({ MAL_CLIENT_ID: 'mal-client', START_BURST: '10000' });
});
afterAll(() => relay.stop());

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

test(`${ROUNDS} rounds of ${POLLS} parked polls leave no more memory than ${WARM_UP}`, async () => {
  const resident: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await parkAndRelease();
    resident.push(relay.residentBytes());
  }
  const settled = Math.min(...resident.slice(WARM_UP - COMPARED, WARM_UP));
  expect(Math.min(...resident.slice(-COMPARED)) - settled).toBeLessThan(ALLOWED_BYTES);
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
