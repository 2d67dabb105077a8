/** The second way to a session: what a person types, and what they are shown. */
import { expect, test } from 'bun:test';
import { ACK_MS } from '../../../src/limits.ts';
import { LIFETIME_MS, NOW, newSession, type OpenStore, register, TOKENS } from './sessions.ts';

const CODE = 'BCDFGHJK';
const DENIED = { error: 'access_denied' } as const;

export function testCodes(openStore: OpenStore): void {
  test('a session is found by its link and by its code, with what the person is to see', async () => {
    const store = await openStore();
    const { browserState } = await register(store, { userCode: CODE, deviceName: 'Fernseher 📺' });
    const found = { service: 'mal', browserState, deviceName: 'Fernseher 📺', startedAtMs: NOW };
    expect(await store.find({ userCode: CODE }, NOW + 1_000)).toEqual(found);
    expect(await store.find({ browserState }, NOW + 1_000)).toEqual(found);
    expect(await store.find({ userCode: CODE }, NOW + 1_000)).toEqual(found);
  });

  test('a session without a code or a name is found by its link', async () => {
    const store = await openStore();
    const { browserState } = await register(store);
    const found = { service: 'mal', browserState, startedAtMs: NOW };
    expect(await store.find({ browserState }, NOW)).toEqual(found);
    expect(await store.find({ userCode: CODE }, NOW)).toBeUndefined();
    expect(await store.useCode(CODE, NOW)).toBeUndefined();
  });

  test('a code is used once; the link goes on leading to the session', async () => {
    const store = await openStore();
    const { browserState, verifier } = await register(store, { userCode: CODE });
    expect(await store.useCode(CODE, NOW)).toMatchObject({ service: 'mal', browserState });
    expect(await store.useCode(CODE, NOW)).toBeUndefined();
    expect(await store.find({ userCode: CODE }, NOW)).toBeUndefined();
    expect(await store.find({ browserState }, NOW)).toMatchObject({ browserState });
    expect(await store.open('mal', browserState, NOW)).toEqual({ verifier: String(verifier) });
  });

  test('of many who use a code at once one gets the session', async () => {
    const store = await openStore();
    await register(store, { userCode: CODE });
    const uses = await Promise.all(Array.from({ length: 20 }, () => store.useCode(CODE, NOW)));
    expect(uses.filter(Boolean)).toHaveLength(1);
  });

  test('a live code is not given twice, and the refused session leaves nothing behind', async () => {
    const store = await openStore();
    await register(store, { userCode: CODE });
    const refused = newSession({ userCode: CODE });
    expect(await store.register(refused, NOW)).toBe('collision');
    expect(await store.find({ browserState: refused.browserState }, NOW)).toBeUndefined();
    expect(await store.claim(refused.pollSecret, NOW)).toEqual({ state: 'gone' });
  });

  test('a code is free again once it is used or its session has expired', async () => {
    const store = await openStore();
    await register(store, { userCode: CODE });
    await store.useCode(CODE, NOW);
    expect(await store.register(newSession({ userCode: CODE }), NOW)).toBe('registered');
    const laterMs = NOW + LIFETIME_MS + 1;
    expect(await store.find({ userCode: CODE }, laterMs)).toBeUndefined();
    expect(await store.register(newSession({ userCode: CODE }), laterMs)).toBe('registered');
  });

  test('neither code nor link finds a session that no longer waits for its person', async () => {
    const store = await openStore();
    const leased = await register(store, { userCode: CODE });
    await store.lease('mal', leased.browserState, NOW);
    const failed = await register(store, { userCode: 'XXXXXXXX' });
    await store.fail('mal', failed.browserState, DENIED, NOW);
    for (const { browserState, userCode = '' } of [leased, failed]) {
      expect(await store.find({ userCode }, NOW)).toBeUndefined();
      expect(await store.useCode(userCode, NOW)).toBeUndefined();
      expect(await store.find({ browserState }, NOW)).toBeUndefined();
    }
  });

  test('a sign-in by code ends as any other', async () => {
    const store = await openStore();
    const { browserState, pollSecret } = await register(store, { userCode: CODE });
    await store.useCode(CODE, NOW);
    await store.lease('mal', browserState, NOW);
    expect(await store.complete('mal', browserState, TOKENS, NOW)).toBe(true);
    expect(await store.claim(pollSecret, NOW)).toEqual({ state: 'claimed', result: TOKENS });
    expect(await store.claim(pollSecret, NOW)).toEqual({ state: 'gone' });
  });
}

export function testAcknowledged(openStore: OpenStore): void {
  async function openDelivered(deliveredAtMs = NOW) {
    const store = await openStore({ maxSessions: 1 });
    const { pollSecret, browserState } = await register(store, { repeatMs: ACK_MS });
    await store.lease('mal', browserState, deliveredAtMs);
    await store.complete('mal', browserState, TOKENS, deliveredAtMs);
    const claim = () => store.claim(pollSecret, deliveredAtMs);
    expect(await claim()).toEqual({ state: 'claimed', result: TOKENS });
    return { store, pollSecret, browserState };
  }

  test('a result that is to be confirmed is handed out again until it is', async () => {
    const { store, pollSecret } = await openDelivered();
    const again = { state: 'claimed', result: TOKENS } as const;
    expect(await store.claim(pollSecret, NOW + ACK_MS)).toEqual(again);
    expect(await store.acknowledge(pollSecret, NOW + ACK_MS)).toBe('acknowledged');
    expect(await store.claim(pollSecret, NOW + ACK_MS)).toEqual({ state: 'gone' });
    expect(await store.acknowledge(pollSecret, NOW + ACK_MS)).toBe('gone');
  });

  test('it stays for its time from the first delivery, and no longer', async () => {
    const { store, pollSecret } = await openDelivered();
    await store.claim(pollSecret, NOW + ACK_MS / 2);
    expect(await store.claim(pollSecret, NOW + ACK_MS + 1)).toEqual({ state: 'gone' });
    expect(await store.acknowledge(pollSecret, NOW + ACK_MS + 1)).toBe('gone');
  });

  test('it stays for that time even where the session would have expired', async () => {
    const { store, pollSecret } = await openDelivered(NOW + LIFETIME_MS);
    const lastMs = NOW + LIFETIME_MS + ACK_MS;
    expect(await store.claim(pollSecret, lastMs)).toMatchObject({ state: 'claimed' });
    expect(await store.claim(pollSecret, lastMs + 1)).toEqual({ state: 'gone' });
  });

  test('until then it counts as alive', async () => {
    for (const deliveredAtMs of [NOW, NOW + LIFETIME_MS]) {
      const { store } = await openDelivered(deliveredAtMs);
      const lastMs = deliveredAtMs + ACK_MS;
      expect(await store.register(newSession(), lastMs)).toBe('busy');
      expect(await store.register(newSession(), lastMs + 1)).toBe('registered');
    }
  });

  test('nothing is confirmed before it was delivered', async () => {
    const store = await openStore();
    const { pollSecret, browserState } = await register(store, { repeatMs: ACK_MS });
    expect(await store.acknowledge(pollSecret, NOW)).toBe('early');
    await store.fail('mal', browserState, DENIED, NOW);
    expect(await store.acknowledge(pollSecret, NOW)).toBe('early');
    expect(await store.claim(pollSecret, NOW)).toEqual({ state: 'claimed', result: DENIED });
    expect(await store.acknowledge('', NOW)).toBe('gone');
  });

  test('a delivered session leads nowhere, and confirming it makes room', async () => {
    const { store, pollSecret, browserState } = await openDelivered();
    expect(await store.find({ browserState }, NOW)).toBeUndefined();
    expect(await store.lease('mal', browserState, NOW)).toBeUndefined();
    await store.acknowledge(pollSecret, NOW);
    expect(await store.register(newSession(), NOW)).toBe('registered');
  });
}
