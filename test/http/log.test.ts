/** What an operator reads in the log (docs/operating.md). */
import { beforeEach, describe, expect, test } from 'bun:test';
import { startLog } from '../../src/log.ts';
import { start, startRequest } from '../kit/device.ts';
import { createEventLog } from '../kit/relay.ts';
import { createTestService } from '../kit/service.ts';
import { callback, deny } from '../kit/user.ts';

let log: ReturnType<typeof createEventLog>;
beforeEach(() => {
  log = createEventLog();
  startLog({ level: 'info', format: 'json', write: log.take });
});

const eventsNamed = (name: string) => log.events.filter(({ event }) => event === name);

describe('what every request would repeat is logged once', () => {
  test('an X-Forwarded-For of a peer that is not trusted', async () => {
    const { ask } = createTestService();
    const forwarded = { ...startRequest(), headers: { 'X-Forwarded-For': '203.0.113.9' } };
    for (let count = 0; count < 3; count += 1) await ask('/auth/start', forwarded);
    expect(eventsNamed('forwarded_header_ignored')).toMatchObject([{ level: 'warning' }]);
  });

  test('that MAX_SESSIONS is reached', async () => {
    const service = createTestService({ maxSessions: 1 });
    await start(service);
    expect(eventsNamed('sessions_full')).toEqual([]);
    for (let count = 0; count < 3; count += 1) {
      expect((await service.ask('/auth/start', startRequest())).status).toBe(503);
    }
    expect(eventsNamed('sessions_full')).toMatchObject([{ level: 'warning' }]);
  });

  test('but not a drain, which refuses starts for another reason', async () => {
    const { drain, ask } = createTestService();
    await drain();
    expect((await ask('/auth/start', startRequest())).status).toBe(503);
    expect(eventsNamed('sessions_full')).toEqual([]);
  });
});

describe('the end of a sign-in', () => {
  test('is logged with its provider and its outcome', async () => {
    const service = createTestService();
    await callback(service, (await start(service)).state);
    const { state } = await start(service, 'anilist');
    await callback(service, state, 'error=access_denied', 'anilist');
    expect(eventsNamed('sign_in_finished')).toMatchObject([
      { level: 'info', service: 'mal', outcome: 'signed_in' },
      { level: 'info', service: 'anilist', outcome: 'access_denied' },
    ]);
  });

  test.each([
    ['invalid_scope', 'invalid_scope'],
    ['unauthorized_client', 'unauthorized_client'],
    ['login_required', 'login_required'],
    ['consent_required', 'consent_required'],
    ['INVALID_SCOPE', 'other'],
    ['constructor', 'other'],
    ['a-code-that-is-no-error', 'other'],
  ])(
    'names the error of the provider, if it is a standard one: %s as %s',
    async (error, providerError) => {
      const service = createTestService();
      const { state } = await start(service);
      await callback(service, state, `error=${error}&error_description=no-such-words`);
      const [failed] = eventsNamed('authorization_failed');
      const [finished] = eventsNamed('sign_in_finished');
      expect(failed).toMatchObject({ level: 'warning', service: 'mal', providerError });
      expect(finished).toMatchObject({
        outcome: 'authorization_failed',
        requestId: failed?.requestId,
      });
      expect(JSON.stringify(log.events)).not.toContain('no-such-words');
    },
  );

  test('names no error of a user who declined, and nothing is logged of a link that no session has', async () => {
    const service = createTestService();
    await deny(service, (await start(service)).state);
    await callback(service, 'unknown', 'error=invalid_scope');
    expect(eventsNamed('authorization_failed')).toEqual([]);
    expect(eventsNamed('sign_in_finished')).toHaveLength(1);
  });

  test('has the same request id as the failure of its exchange', async () => {
    const service = createTestService({}, { fetch: async () => new Response('', { status: 500 }) });
    for (let count = 0; count < 2; count += 1) {
      await callback(service, (await start(service)).state);
    }
    const failed = eventsNamed('exchange_failed');
    const reason = { level: 'warning', service: 'mal', reason: 'status', status: 500 };
    expect(failed).toMatchObject([reason, reason]);
    const ids = failed.map(({ requestId }) => requestId);
    expect(eventsNamed('sign_in_finished')).toMatchObject(
      ids.map((requestId) => ({ outcome: 'exchange_failed', requestId })),
    );
    expect(ids[0]).toEqual(expect.any(String));
    expect(ids[0]).not.toBe(ids[1]);
  });
});
