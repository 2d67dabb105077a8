/** Parked polls: nothing is kept of one that has ended, one whose check failed tries again by itself, and their number is limited. */
import { describe, expect, test } from 'bun:test';
import type { Event } from '../../src/sign-ins/session.ts';
import type { SessionKey } from '../../src/sign-ins/store.ts';
import { isPending, runReady, runTurns } from '../kit/clock.ts';
import { authorizeDevice, poll, pollToken, start, UNKNOWN_SECRET } from '../kit/device.ts';
import { STALL_GRACE_MS, STORE_RETRY_MAX_MS, STORE_RETRY_MS } from '../kit/limits.ts';
import {
  BASE_URL,
  createTestService,
  nameOf,
  StoreUnavailable,
  type TestService,
} from '../kit/service.ts';
import { deny } from '../kit/user.ts';

const HOLD_MS = 50_000;
const DENIED = { error: 'access_denied' };

interface Parked {
  readonly service: TestService;
  readonly state: string;
  readonly device: AbortController;
}

test.each<[string, (parked: Parked) => unknown]>([
  ['was answered', ({ service, state }) => deny(service, state)],
  ['was held to its end', ({ service }) => service.clock.advance(HOLD_MS)],
  ['was answered because of a drain', ({ service }) => service.drain()],
  ['was parked when the service closed', ({ service }) => service.close()],
  ['was left by its device', ({ device }) => device.abort()],
])(
  'nothing is kept of a poll that %s: no waiter, and no timer after its deadlines',
  async (_, end) => {
    const service = createTestService();
    const timersBefore = service.clock.timers;
    const { session, state } = await start(service);
    const device = new AbortController();
    const polled = poll(service, session, { signal: device.signal });
    expect(await isPending(polled)).toBe(true);
    expect(await service.countParked()).toBe(1);
    await end({ service, state, device });
    await polled;
    expect(await service.countParked()).toBe(0);
    service.clock.advance(HOLD_MS);
    expect(service.clock.timers).toBeLessThanOrEqual(timersBefore);
  },
);

test('a parked poll keeps no headers of its request, however long they are', async () => {
  const service = createTestService();
  const { session } = await start(service);
  const requests: WeakRef<Request>[] = [];
  async function park(): Promise<void> {
    const headers = { 'X-Long': 'x'.repeat(15_000) };
    const request = new Request(`${BASE_URL}/auth/result?session=${session}`, { headers });
    requests.push(new WeakRef(request));
    void service.handle(request, { requestIP: () => null });
  }
  for (let count = 0; count < 20; count += 1) await park();
  expect((await service.readState()).parkedPolls).toBe(20);
  Bun.gc(true);
  // One or two may still be on the stack.
  expect(requests.filter((each) => each.deref() !== undefined).length).toBeLessThan(5);
});

describe('a session that changes while the store answers ends the poll at once:', () => {
  type Change = (service: TestService, state: string, session: string) => Promise<Response>;

  test.each<[string, Change, number, string]>([
    ['the user comes back', (service, state) => deny(service, state), 200, JSON.stringify(DENIED)],
    [
      'the device cancels',
      (service, _, session) => service.ask(`/auth/result?session=${session}&cancel=1`),
      410,
      'Session not found\n',
    ],
    [
      'the user opens the link',
      (service, state) => service.ask(`/auth/mal?state=${state}`),
      200,
      JSON.stringify({ progress: 'opened' }),
    ],
  ])('%s', async (_, change, status, body) => {
    const { store, clock } = createTestService();
    const arrived = Promise.withResolvers<void>();
    const slow = {
      ...store,
      async update<Reply>(key: SessionKey, event: Event<Reply>) {
        const reply = await store.update(key, event);
        if (nameOf(key, event) === 'poll') await arrived.promise;
        return reply;
      },
    };
    const service = createTestService({ sharing: { store: slow, clock } });
    const { session, state } = await start(service);
    const polled = poll(service, `${session}&progress=1`);
    await runReady();
    await change(service, state, session);
    expect(await isPending(polled)).toBe(true);
    arrived.resolve();
    expect(await isPending(polled)).toBe(false);
    const answer = await polled;
    expect([answer.status, await answer.text()]).toEqual([status, body]);
  });
});

test('a report of progress is not used up by a device that has disconnected', async () => {
  const service = createTestService();
  const { session, url } = await start(service);
  const asked = `${session}&progress=1`;
  const device = new AbortController();
  const left = poll(service, asked, { signal: device.signal });
  await runReady();
  device.abort();
  expect((await left).status).toBe(204);
  await service.ask(url);
  const gone = poll(service, asked, { signal: AbortSignal.abort() });
  expect((await gone).status).toBe(204);
  expect(await (await poll(service, asked)).json()).toEqual({ progress: 'opened' });
});

/** After a lookup that failed no notice may come, so the poll repeats it. */
describe('a poll whose lookup the store refuses', () => {
  async function createRefusing(refuses: (lookup: number) => boolean) {
    let lookups = 0;
    const service = createTestService({
      beforeStore(verb) {
        if (verb !== 'poll') return;
        lookups += 1;
        if (refuses(lookups)) throw new StoreUnavailable();
      },
    });
    return { service, ...(await start(service)), lookups: () => lookups };
  }

  test('tries again by itself, and is then notified like any other', async () => {
    const { service, session, state, lookups } = await createRefusing((lookup) => lookup <= 2);
    const polled = poll(service, session);
    await runReady();
    service.clock.advance(STORE_RETRY_MS);
    await runReady();
    expect(lookups()).toBe(2);
    service.clock.advance(2 * STORE_RETRY_MS);
    await runReady();
    expect(lookups()).toBe(3);
    await deny(service, state);
    expect(await (await polled).json()).toEqual(DENIED);
  });

  test('finds a result that came meanwhile', async () => {
    let isAway = true;
    const { service, session, state } = await createRefusing(() => isAway);
    const polled = poll(service, session);
    await runReady();
    await deny(service, state);
    await runReady();
    isAway = false;
    service.clock.advance(STORE_RETRY_MAX_MS);
    expect(await (await polled).json()).toEqual(DENIED);
  });

  test('takes no result after a pause of the process if its device has left meanwhile', async () => {
    let isAway = true;
    const { service, session, state } = await createRefusing(() => isAway);
    const device = new AbortController();
    const polled = poll(service, session, { signal: device.signal });
    await runReady();
    await deny(service, state);
    isAway = false;
    service.clock.stall(5_000);
    service.clock.advance(0);
    await runReady();
    // Read only now.
    device.abort();
    service.clock.advance(STALL_GRACE_MS);
    expect((await polled).status).toBe(204);
    expect(await (await poll(service, session)).json()).toEqual(DENIED);
  });

  test('backs off, and gets a 204 in time', async () => {
    const { service, session, lookups } = await createRefusing(() => true);
    const polled = poll(service, session);
    for (let passedMs = 0; passedMs < HOLD_MS; passedMs += STORE_RETRY_MS) {
      await runReady();
      service.clock.advance(STORE_RETRY_MS);
    }
    expect((await polled).status).toBe(204);
    expect(lookups()).toBeLessThan(HOLD_MS / STORE_RETRY_MAX_MS + 5);
    expect(await service.countParked()).toBe(0);
  });

  test.each([
    ['is answered at once if it is not held', '&wait=0'],
    ['is answered at once if its device leaves', ''],
  ])('%s', async (_, query) => {
    const { service, session } = await createRefusing(() => true);
    const device = new AbortController();
    const polled = service.ask(`/auth/result?session=${session}${query}`, {
      signal: device.signal,
    });
    await runReady();
    if (query === '') device.abort();
    expect((await polled).status).toBe(204);
  });
});

describe('one poll more than may wait', () => {
  type Status = number | 'held';

  /** Parks polls one after the other, `gapMs` apart. `statuses` is kept up to date. */
  async function parkAll(service: TestService, queries: readonly string[], gapMs = 0) {
    const statuses: Status[] = [];
    const polled = [];
    for (const [index, query] of queries.entries()) {
      if (index > 0) service.clock.advance(gapMs);
      statuses.push('held');
      const answer = poll(service, query);
      polled.push(
        answer.then(({ status }) => {
          statuses[index] = status;
        }),
      );
      await runReady();
    }
    return { statuses, ended: Promise.all(polled) };
  }

  const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);
  const held = (count: number) => times<Status>(count, 'held');

  async function pass(service: TestService, ms: number): Promise<void> {
    service.clock.advance(ms);
    await runReady();
  }

  test.each(['', '&progress=1', '&wait=40'])(
    'for a session ends the one that was held longest, and no other: %s',
    async (query) => {
      const service = createTestService();
      const [one, other] = [await start(service), await start(service)];
      const asked = [other.session, ...times(5, `${one.session}${query}`)];
      const { statuses } = await parkAll(service, asked, 1_000);
      expect(statuses).toEqual(['held', 204, ...held(4)]);
      expect(await service.countParked()).toBe(5);
    },
  );

  test('in all ends the one that was held longest, whatever its session', async () => {
    const service = createTestService({ startBurst: 10, maxParkedPolls: 5 });
    const sessions: string[] = [];
    for (let count = 0; count < 6; count += 1) sessions.push((await start(service)).session);
    const { statuses } = await parkAll(service, [...sessions, sessions[0] ?? ''], 1_000);
    expect(statuses).toEqual([204, 204, ...held(5)]);
    expect((await service.readState()).parkedPolls).toBe(5);
  });

  test.each([
    ['of one session', 4, {}],
    ['in all', 3, { maxParkedPolls: 3 }],
  ])('ends none that was held for less than a second: %s', async (_, limit, options) => {
    const service = createTestService(options);
    const { session } = await start(service);
    const { statuses } = await parkAll(service, times(20, session), 1);
    await pass(service, 999 - 19);
    expect(statuses).toEqual(held(20));
    await pass(service, 1_000);
    expect(statuses).toEqual([...times<Status>(20 - limit, 204), ...held(limit)]);
    await pass(service, HOLD_MS);
    expect(statuses).toEqual(times(20, 204));
    expect(await service.countParked()).toBe(0);
  });

  test('gets the result like those that make room for it, until they have ended', async () => {
    const service = createTestService();
    const { session, state } = await start(service, 'mal', { ack: true });
    const { statuses, ended } = await parkAll(service, times(10, session));
    await deny(service, state);
    await ended;
    expect(statuses).toEqual(times(10, 200));
  });

  test('lets none be held longer than it asked for', async () => {
    const service = createTestService();
    const { session } = await start(service);
    const { statuses } = await parkAll(service, times(4, `${session}&wait=1`));
    await pass(service, 900);
    const later = await parkAll(service, times(4, session));
    await pass(service, 100);
    expect([...statuses, ...later.statuses]).toEqual([...times<Status>(4, 204), ...held(4)]);
  });

  test('ends none while its session is not known', async () => {
    const service = createTestService({ maxParkedPolls: 1 });
    const { session } = await start(service);
    const { statuses } = await parkAll(service, [session, UNKNOWN_SECRET, UNKNOWN_SECRET], 1_000);
    expect(statuses).toEqual(['held', 410, 410]);
  });

  test('ends one with an unknown secret first while the store does not answer', async () => {
    let isAway = false;
    const service = createTestService({
      maxParkedPolls: 3,
      beforeStore(verb) {
        if (isAway && verb === 'poll') throw new StoreUnavailable();
      },
    });
    const real = await parkAll(service, [(await start(service)).session]);
    isAway = true;
    const secrets = ['A', 'B', 'C', 'D'].map((letter) => letter.repeat(24));
    const invented = await parkAll(service, secrets, 1_000);
    expect([...real.statuses, ...invented.statuses]).toEqual(['held', 204, 204, 'held', 'held']);
  });

  test('ends a poll of the device grant as one that is still pending', async () => {
    const service = createTestService({ maxParkedPolls: 1 });
    const { deviceCode } = await authorizeDevice(service);
    const headers = { Prefer: 'wait=50' };
    const polled = pollToken(service, deviceCode, {}, { headers });
    await runTurns();
    service.clock.advance(1_000);
    const { statuses } = await parkAll(service, [(await start(service)).session]);
    expect(await polled).toMatchObject({ status: 400, body: { error: 'authorization_pending' } });
    expect(statuses).toEqual(['held']);
  });

  test('after a pause of the process lets what has arrived meanwhile be read first', async () => {
    const service = createTestService();
    const { session, state } = await start(service);
    const { statuses } = await parkAll(service, times(5, session));
    service.clock.stall(5_000);
    await pass(service, 0);
    expect(statuses).toEqual(held(5));
    await deny(service, state);
    await runReady();
    expect(statuses).toEqual([200, ...times(4, 410)]);
  });
});
