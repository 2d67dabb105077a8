/** What a device may ask for at `/auth/*` beyond the specification. */
import { describe, expect, test } from 'bun:test';
import { ACK_MS } from '../../src/limits.ts';
import { BASE_URL, createTestService } from '../support/test-service.ts';
import { UNSEEN } from '../support/unseen.ts';

/** A start with more than a service in it. */
async function startWith(asked: object) {
  const service = createTestService();
  const body = JSON.stringify({ service: 'mal', ...asked });
  const response = await service.send('/auth/start', { method: 'POST', body });
  const answer = (await response.json()) as Record<string, string>;
  const state = new URL(String(answer.url)).searchParams.get('state') ?? '';
  return { ...service, answer, state, session: String(answer.session) };
}

describe('"code": true', () => {
  test('adds the code, the short link and its picture', async () => {
    const { answer, store, clock, state } = await startWith({ code: true });
    const userCode = String(answer.userCode);
    expect(userCode).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    expect(answer).toMatchObject({
      link: `${BASE_URL}/L/${userCode}`,
      qr: `${BASE_URL}/qr/${userCode}.png`,
    });
    const found = await store.find({ userCode: userCode.replace('-', '') }, clock.now());
    expect(found).toMatchObject({ service: 'mal', browserState: state });
  });

  test.each([{}, { code: false }, { code: 'true' }, { code: 1 }, { code: null }])(
    'protocol.md §2: without it (%j) the answer is three fields and no more',
    async (asked) => {
      const { answer } = await startWith(asked);
      expect(Object.keys(answer)).toEqual(['session', 'url', 'expiresIn']);
    },
  );

  test('the link of the specification works as before', async () => {
    const { send, answer } = await startWith({ code: true });
    const { pathname, search } = new URL(String(answer.url));
    expect((await send(pathname + search)).status).toBe(302);
  });
});

describe('"device"', () => {
  test.each([
    ['Living room', 'Living room'],
    ['  Wohn\n\tzimmer  ', 'Wohn zimmer'],
    ['a\u202Eb\u200Bc\u0007', 'abc'],
    ['é'.repeat(60), 'é'.repeat(40)],
    ['📺'.repeat(41), '📺'.repeat(40)],
    ['<b>TV</b>', '<b>TV</b>'],
    ['\u0000 \u202E', undefined],
    ['\u3164', undefined],
    ['\u2800\u2800', undefined],
    ['\u0301\u0301', undefined],
    ['\u{E0041}\u{E007F}', undefined],
    ['👨‍👩‍👧‍👦', '👨‍👩‍👧‍👦'],
    [7, undefined],
  ])('%j is shown as %j', async (device, shown) => {
    const { store, state, clock } = await startWith({ device });
    const found = await store.find({ browserState: state }, clock.now());
    expect(found?.deviceName).toBe(shown);
  });
});

// Half a character would reach the relay as U+FFFD in a form, which is seen.
test.each([UNSEEN.filter((each) => each.isWellFormed()).join(''), '\u0301'])(
  'a device without a name that is seen gets no line of its own on the page: %j',
  async (device) => {
    const { send, answer } = await startWith({ code: true, device });
    const form = new URLSearchParams({ device });
    const init = { method: 'POST', body: form };
    const other = await send('/oauth2/mal/device_authorization', init, '192.0.2.2');
    const { user_code: userCode } = (await other.json()) as Record<string, string>;
    for (const path of [new URL(String(answer.link)).pathname, `/L/${userCode}`]) {
      const page = await (await send(path)).text();
      expect(page).toContain('<dt>Started</dt>');
      expect(page).not.toContain('<dt>Device</dt>');
    }
  },
);

describe('wait', () => {
  test.each([0, 1, 25, 50])('holds the poll %d s, to the millisecond', async (seconds) => {
    const { send, session, clock, runReady } = await startWith({});
    let isOver = false;
    const polled = send(`/auth/result?session=${session}&wait=${seconds}`).finally(() => {
      isOver = true;
    });
    await runReady();
    if (seconds > 0) {
      clock.advance(seconds * 1_000 - 1);
      await runReady();
      expect(isOver).toBe(false);
      clock.advance(1);
    }
    expect((await polled).status).toBe(204);
  });

  test('is never longer than the operator holds polls', async () => {
    const { start, send, clock, runReady } = createTestService({ pollSeconds: 5 });
    const { session } = await start();
    const polled = send(`/auth/result?session=${session}&wait=50`);
    await runReady();
    clock.advance(5_000);
    expect((await polled).status).toBe(204);
  });

  test.each(['51', '-1', '1.5', 'abc', '', '050'])(
    '"%s" is refused, and nothing is claimed',
    async (wait) => {
      const { send, session, state, callback } = await startWith({});
      await callback(state);
      expect((await send(`/auth/result?session=${session}&wait=${wait}`)).status).toBe(400);
      expect((await send(`/auth/result?session=${session}&wait=0`)).status).toBe(200);
    },
  );

  test('a completion ends it at once, and holds of many lengths end each in their time', async () => {
    const { send, session, callback, state, clock, runReady } = await startWith({});
    const short = send(`/auth/result?session=${session}&wait=1`);
    const long = send(`/auth/result?session=${session}&wait=40`);
    await runReady();
    clock.advance(1_000);
    expect((await short).status).toBe(204);
    await callback(state);
    expect((await long).status).toBe(200);
  });
});

describe('"ack": true', () => {
  const TOKENS = { accessToken: 'granted', expiresIn: 3_600 };

  test('a result whose answer was lost is handed out again until it is confirmed', async () => {
    const { send, session, poll, callback, state } = await startWith({ ack: true });
    await callback(state);
    expect(await (await poll(session)).json()).toEqual(TOKENS);
    expect(await (await poll(session)).json()).toEqual(TOKENS);
    expect((await send(`/auth/result?session=${session}&ack=1`)).status).toBe(204);
    expect((await poll(session)).status).toBe(410);
    expect((await send(`/auth/result?session=${session}&ack=1`)).status).toBe(410);
  });

  test('unconfirmed it stays 60 s from the first delivery', async () => {
    const { session, poll, callback, state, clock } = await startWith({ ack: true });
    await callback(state);
    await poll(session);
    clock.advance(ACK_MS);
    expect((await poll(session)).status).toBe(200);
    clock.advance(1);
    expect((await poll(session)).status).toBe(410);
  });

  test('confirming before anything was delivered changes nothing', async () => {
    const { send, session, poll, callback, state } = await startWith({ ack: true });
    expect((await send(`/auth/result?session=${session}&ack=1`)).status).toBe(204);
    await callback(state);
    expect((await send(`/auth/result?session=${session}&ack=1`)).status).toBe(204);
    expect((await poll(session)).status).toBe(200);
  });

  test('protocol.md §3: without it a result is handed out once', async () => {
    const { session, poll, callback, state } = await startWith({ ack: 'yes' });
    await callback(state);
    expect((await poll(session)).status).toBe(200);
    expect((await poll(session)).status).toBe(410);
  });
});
