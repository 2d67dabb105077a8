/** A store that fails or is unavailable: what devices and users get (docs/protocol.md). */
import { describe, expect, test } from 'bun:test';
import { createApp } from '../../src/http/app.ts';
import { refuse } from '../../src/http/responses.ts';
import {
  acknowledge,
  poll,
  pollToken,
  start,
  startRequest,
  UNKNOWN_SECRET,
} from '../kit/device.ts';
import { plantSecret } from '../kit/secrets.ts';
import {
  type Asked,
  captureLog,
  createTestService,
  StoreUnavailable,
  type TestService,
} from '../kit/service.ts';
import { callback } from '../kit/user.ts';

const FAULTS: Readonly<Record<string, () => Promise<never>>> = {
  fails: () => Promise.reject(new TypeError('a bug in the store')),
  'is unavailable': () => Promise.reject(new StoreUnavailable()),
};

/** A service on whose store one verb has a fault. */
function createFaulty(verb: Asked, fault: string) {
  return createTestService({ beforeStore: (called) => called === verb && FAULTS[fault]?.() });
}

type Ask = (service: TestService, state: string) => Promise<Response>;

const BUSY = /^Server busy\n$/;
const FAILED_PAGE = /Sign-in failed/;

/** The request, the verb that it needs, and the body of the 503. */
const REQUESTS: [string, Asked, Ask, body: RegExp][] = [
  ['a start', 'create', (service) => service.ask('/auth/start', startRequest()), BUSY],
  // So that the device repeats these two.
  ['an acknowledgement', 'acknowledge', (service) => acknowledge(service, UNKNOWN_SECRET), BUSY],
  ['a cancellation', 'cancel', (service) => poll(service, `${UNKNOWN_SECRET}&cancel=1`), BUSY],
  ['a QR code', 'find', (service, state) => service.ask(`/qr/${state}.png`), BUSY],
  ['a link', 'open', (service, state) => service.ask(`/auth/mal?state=${state}`), FAILED_PAGE],
  ['a callback', 'lease', callback, FAILED_PAGE],
];

describe.each(Object.keys(FAULTS))('when the store %s', (fault) => {
  test.each(REQUESTS)('%s gets a 503', async (_, verb, ask, body) => {
    const service = createFaulty(verb, fault);
    const isStart = verb === 'create';
    const state = isStart ? '' : (await start(service)).state;
    const answer = await ask(service, state);
    expect(answer.status).toBe(503);
    expect(await answer.text()).toMatch(body);
  });
});

test('a fault is logged with its name and place, not its message: it may have a secret', async () => {
  const log = captureLog();
  const secret = plantSecret(`secret-${crypto.randomUUID()}`);
  const service = createTestService({
    beforeStore() {
      throw new TypeError(`no ${secret}\n    at ${secret} (line:1)`);
    },
  });
  await service.ask('/auth/start', startRequest());
  expect(log.named('handler_fault')).toMatchObject([
    {
      level: 'error',
      error: 'TypeError',
      at: expect.arrayContaining([expect.stringContaining(import.meta.file)]),
    },
  ]);
  expect(JSON.stringify(log.events)).not.toContain(secret);
});

test.each(['GET', 'HEAD'])('a refusal that cannot be shown is a fault too: %s', async (method) => {
  const log = captureLog();
  const answer = async () => refuse('busy');
  const onRefusal = () => {
    throw new TypeError('a bug in a page');
  };
  const route = { path: '/', methods: { GET: answer, HEAD: answer }, onRefusal };
  const handle = createApp([route]);
  const addresses = { requestIP: () => null };
  const response = await handle(new Request('https://relay.test/', { method }), addresses);
  const text = method === 'HEAD' ? '' : 'Server busy\n';
  expect([response.status, await response.text()]).toEqual([503, text]);
  expect(log.named('handler_fault')).toMatchObject([{ error: 'TypeError' }]);
});

// Devices in the field take any other status as final. A store that is unavailable is in polls.test.ts.
test('when the store fails, a poll of either protocol gets what makes it poll again', async () => {
  const service = createFaulty('poll', 'fails');
  const { session } = await start(service);
  expect((await poll(service, session)).status).toBe(204);
  const { status, body } = await pollToken(service, session);
  expect([status, body.error]).toEqual([400, 'authorization_pending']);
});
