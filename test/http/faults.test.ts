/** A store that fails or is unavailable: what devices and users are told (docs/protocol.md). */
import { describe, expect, test } from 'bun:test';
import { isPending, runReady } from '../kit/clock.ts';
import { acknowledge, poll, start, startRequest, UNKNOWN_SECRET } from '../kit/device.ts';
import {
  createTestService,
  StoreUnavailable,
  type TestService,
  type Verb,
} from '../kit/service.ts';
import { callback } from '../kit/user.ts';

const HOLD_MS = 50_000;

const FAULTS: Readonly<Record<string, () => Promise<never>>> = {
  fails: () => Promise.reject(new TypeError('a bug in the store')),
  'is unavailable': () => Promise.reject(new StoreUnavailable()),
};

/** A service on whose store one verb has a fault. */
function createFaulty(verb: Verb, fault: string) {
  return createTestService({}, { beforeVerb: (called) => called === verb && FAULTS[fault]?.() });
}

type Ask = (service: TestService, state: string, session: string) => Promise<Response>;

const BUSY = /^Server busy\n$/;
const FAILED_PAGE = /Sign-in failed/;

/** The request, the verb that it needs, and the answer. */
const REQUESTS: [string, Verb, Ask, status: number, body: RegExp][] = [
  [
    'a start is 503',
    'register',
    (service) => service.ask('/auth/start', startRequest()),
    503,
    BUSY,
  ],
  [
    'an acknowledgement is 503, so that the device repeats it',
    'acknowledge',
    (service) => acknowledge(service, UNKNOWN_SECRET),
    503,
    BUSY,
  ],
  [
    'a link is a 503 page',
    'getAuthorization',
    (service, state) => service.ask(`/auth/mal?state=${state}`),
    503,
    FAILED_PAGE,
  ],
  [
    'a callback is a 503 page',
    'lease',
    (service, state) => callback(service, state),
    503,
    FAILED_PAGE,
  ],
  [
    'a QR code is 503',
    'getSession',
    (service, state) => service.ask(`/qr/${state}.png`),
    503,
    BUSY,
  ],
  [
    // Devices in the field take any other status as final.
    'a poll is 204, so that the device polls again',
    'claim',
    (service, _, session) => poll(service, session),
    204,
    /^$/,
  ],
];

describe.each(Object.keys(FAULTS))('when the store %s', (fault) => {
  test.each(REQUESTS)('%s', async (_, verb, ask, status, body) => {
    const service = createFaulty(verb, fault);
    const isStart = verb === 'register';
    const { state, session } = isStart ? { state: '', session: '' } : await start(service);
    const asked = ask(service, state, session);
    // A poll keeps trying a store that is unavailable, until its time is over.
    if (fault === 'is unavailable' && verb === 'claim') {
      await runReady();
      service.clock.advance(HOLD_MS - 1);
      expect(await isPending(asked)).toBe(true);
      service.clock.advance(1);
    }
    const answer = await asked;
    expect(answer.status).toBe(status);
    expect(await answer.text()).toMatch(body);
  });
});

test('a poll gets its tokens when the store was unavailable only for a while', async () => {
  let isAway = true;
  const service = createTestService(
    {},
    { beforeVerb: (verb) => verb === 'claim' && isAway && FAULTS['is unavailable']?.() },
  );
  const { session, state } = await start(service);
  const polled = poll(service, session);
  await runReady();
  isAway = false;
  await callback(service, state);
  expect((await polled).status).toBe(200);
});
