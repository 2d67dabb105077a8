import { describe, expect, test } from 'bun:test';
import { HANDLER_DEADLINE_MS } from '../../src/limits.ts';
import { type SessionStore, StoreUnavailable } from '../../src/relay/store.ts';
import { createTestService, SETTINGS, startOf } from '../support/test-service.ts';

const HOLD_MS = SETTINGS.pollSeconds * 1_000;

const throws = () => Promise.reject(new TypeError('a bug in the store'));
const isAway = () => Promise.reject(new StoreUnavailable());
const neverSettles = () => new Promise<never>(() => {});

/** A service whose store has one verb that does what `fault` does. */
function createFaulty(verb: keyof SessionStore, fault: () => Promise<never>) {
  return createTestService({}, undefined, {
    changeStore: (store) => ({ ...store, [verb]: fault }),
  });
}

type Service = ReturnType<typeof createTestService>;

/** What is answered when a handler has had all the time it may take. */
async function answerAtDeadline(service: Service, asked: Promise<Response>, deadlineMs: number) {
  let isAnswered = false;
  const answered = asked.then((response) => {
    isAnswered = true;
    return response;
  });
  await service.runReady();
  service.clock.advance(deadlineMs - 1);
  await service.runReady();
  expect(isAnswered).toBe(false);
  service.clock.advance(1);
  return answered;
}

describe('a start', () => {
  test.each([
    ['fails', throws],
    ['is away', isAway],
  ])('is answered 503 when the store %s', async (_, fault) => {
    const response = await createFaulty('register', fault).send('/auth/start', startOf('mal'));
    expect([response.status, await response.text()]).toEqual([503, 'Server busy\n']);
  });

  test('is answered 503 when the store never answers', async () => {
    const service = createFaulty('register', neverSettles);
    const asked = service.send('/auth/start', startOf('mal'));
    expect((await answerAtDeadline(service, asked, HANDLER_DEADLINE_MS)).status).toBe(503);
  });
});

describe('a poll is told to come again, since to devices any error is final', () => {
  test('when the store fails', async () => {
    const { start, poll } = createFaulty('claim', throws);
    const { session } = await start();
    expect((await poll(session)).status).toBe(204);
  });

  test('when the store never answers', async () => {
    const service = createFaulty('claim', neverSettles);
    const { session } = await service.start();
    const asked = service.poll(session);
    const deadlineMs = HOLD_MS + HANDLER_DEADLINE_MS;
    expect((await answerAtDeadline(service, asked, deadlineMs)).status).toBe(204);
  });

  test('when the store is away, but not before the hold is over', async () => {
    const service = createFaulty('claim', isAway);
    const { session } = await service.start();
    const asked = service.poll(session);
    expect((await answerAtDeadline(service, asked, HOLD_MS)).status).toBe(204);
  });

  test('and is handed its tokens when the store was away only for a while', async () => {
    let away = true;
    const service = createTestService({}, undefined, {
      changeStore: (store) => ({
        ...store,
        claim: (...asked) => (away ? isAway() : store.claim(...asked)),
      }),
    });
    const { session, state } = await service.start();
    const polled = service.poll(session);
    await service.runReady();
    away = false;
    await service.callback(state);
    expect((await polled).status).toBe(200);
  });
});

describe('an acknowledgement that may not have been carried out is answered 503, so that it is repeated', () => {
  test.each([
    ['fails', throws],
    ['is away', isAway],
  ])('when the store %s', async (_, fault) => {
    const { send } = createFaulty('acknowledge', fault);
    const response = await send(`/auth/result?session=${'A'.repeat(24)}&ack=1`);
    expect([response.status, await response.text()]).toEqual([503, 'Server busy\n']);
  });

  test('when the store never answers', async () => {
    const service = createFaulty('acknowledge', neverSettles);
    const asked = service.send(`/auth/result?session=${'A'.repeat(24)}&ack=1`);
    const deadlineMs = HOLD_MS + HANDLER_DEADLINE_MS;
    expect((await answerAtDeadline(service, asked, deadlineMs)).status).toBe(503);
  });
});

describe('the person is shown a page', () => {
  test.each(['open', 'lease'] as const)('when %s fails or never answers', async (verb) => {
    const go = ({ send, callback }: Service, state: string) =>
      verb === 'open' ? send(`/auth/mal?state=${state}`) : callback(state);
    const failing = createFaulty(verb, throws);
    const silent = createFaulty(verb, neverSettles);
    const asked = go(silent, (await silent.start()).state);
    for (const response of [
      await go(failing, (await failing.start()).state),
      await answerAtDeadline(silent, asked, HANDLER_DEADLINE_MS),
    ]) {
      expect(response.status).toBe(503);
      expect(await response.text()).toContain('Sign-in failed');
    }
  });

  test('when an exchange never answers', async () => {
    const service = createTestService({}, neverSettles);
    const asked = service.callback((await service.start()).state);
    const response = await answerAtDeadline(service, asked, HANDLER_DEADLINE_MS);
    expect(response.status).toBe(503);
    expect(await response.text()).toContain('Sign-in failed');
  });
});
