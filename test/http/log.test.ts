/** What an operator reads of sign-ins. */
import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { reset } from '@logtape/logtape';
import { startLog } from '../../src/operate/log.ts';
import { createEventLog, type EventLog } from '../support/event-log.ts';
import { createTestService, startOf } from '../support/test-service.ts';

let log: EventLog;
beforeEach(async () => {
  log = createEventLog();
  await startLog({ level: 'info', format: 'json', write: log.take });
});
afterAll(reset);

const eventsNamed = (name: string) => log.events().filter(({ event }) => event === name);

describe('what every request would repeat is said once', () => {
  test('an X-Forwarded-For of a peer that is not trusted', async () => {
    const { send } = createTestService();
    const forwarded = { ...startOf('mal'), headers: { 'X-Forwarded-For': '203.0.113.9' } };
    for (let count = 0; count < 3; count += 1) await send('/auth/start', forwarded);
    expect(eventsNamed('forwarded_header_ignored')).toMatchObject([{ level: 'warning' }]);
  });

  test('as many sessions as may be', async () => {
    const { start, send } = createTestService({ maxSessions: 1 });
    await start();
    expect(eventsNamed('sessions_full')).toEqual([]);
    for (let count = 0; count < 3; count += 1) {
      expect((await send('/auth/start', startOf('mal'))).status).toBe(503);
    }
    expect(eventsNamed('sessions_full')).toMatchObject([{ level: 'warning' }]);
  });

  test('a drain is neither', async () => {
    const { drain, send } = createTestService();
    await drain();
    expect((await send('/auth/start', startOf('mal'))).status).toBe(503);
    expect(eventsNamed('sessions_full')).toEqual([]);
  });
});

describe('the end of a sign-in', () => {
  test('is said with its service and its outcome', async () => {
    const { start, callback } = createTestService();
    await callback((await start('mal')).state);
    await callback((await start('anilist')).state, 'error=access_denied', 'anilist');
    expect(eventsNamed('sign_in_finished')).toMatchObject([
      { level: 'info', service: 'mal', outcome: 'signed_in' },
      { level: 'info', service: 'anilist', outcome: 'access_denied' },
    ]);
  });

  test('is no news when the link leads nowhere', async () => {
    const { callback } = createTestService();
    await callback('nobody');
    expect(eventsNamed('sign_in_finished')).toEqual([]);
  });

  test.each([
    ['invalid_scope', 'invalid_scope'],
    ['unauthorized_client', 'unauthorized_client'],
    ['login_required', 'login_required'],
    ['consent_required', 'consent_required'],
    ['INVALID_SCOPE', 'other'],
    ['constructor', 'other'],
    ['a-code-that-is-no-error', 'other'],
  ])('names the error that the provider sent: %s as %s', async (error, providerError) => {
    const { start, callback } = createTestService();
    await callback((await start()).state, `error=${error}&error_description=no-such-words`);
    const [failed] = eventsNamed('authorization_failed');
    const [finished] = eventsNamed('sign_in_finished');
    expect(failed).toMatchObject({ level: 'warning', service: 'mal', providerError });
    expect(finished).toMatchObject({
      outcome: 'authorization_failed',
      requestId: failed?.requestId,
    });
    expect(JSON.stringify(log.events())).not.toContain('no-such-words');
  });

  test('names no error of a user who declined, nor of a link that leads nowhere', async () => {
    const { start, callback } = createTestService();
    await callback((await start()).state, 'error=access_denied');
    await callback('nobody', 'error=invalid_scope');
    expect(eventsNamed('authorization_failed')).toEqual([]);
  });

  test('and what went wrong in its exchange are tied together, sign-in by sign-in', async () => {
    const { start, callback } = createTestService(
      {},
      async () => new Response('down', { status: 500 }),
    );
    for (let count = 0; count < 2; count += 1) await callback((await start()).state);
    const failed = eventsNamed('exchange_failed');
    const finished = eventsNamed('sign_in_finished');
    expect(failed).toMatchObject([
      { level: 'warning', service: 'mal', reason: 'status', status: 500 },
      { level: 'warning', service: 'mal', reason: 'status', status: 500 },
    ]);
    expect(finished).toMatchObject([
      { outcome: 'exchange_failed', requestId: failed[0]?.requestId },
      { outcome: 'exchange_failed', requestId: failed[1]?.requestId },
    ]);
    expect(finished[0]?.requestId).toEqual(expect.any(String));
    expect(finished[0]?.requestId).not.toBe(finished[1]?.requestId);
  });
});
