/** RFC 8628 §3.4 and §3.5, RFC 6749 §5: a device polls. */
import { describe, expect, test } from 'bun:test';
import type { Fetch } from '../../src/providers/token-endpoint.ts';
import { createDeviceDoor, DEVICE_CODE_GRANT } from './support/device-door.ts';

const ALL_FIELDS = {
  access_token: 'granted',
  token_type: 'bearer',
  expires_in: 3_600,
  refresh_token: 'refresh',
  scope: 'read write',
  id_token: 'header.body.signature',
};

describe('polling', () => {
  test('§3.5: pending, then the tokens', async () => {
    const { begin, poll, callback } = createDeviceDoor();
    const { device_code: code, state } = await begin();
    expect(await poll(code)).toMatchObject({
      status: 400,
      body: { error: 'authorization_pending' },
    });
    await callback(state);
    const { status, body, headers } = await poll(code);
    expect(status).toBe(200);
    expect(body).toEqual({
      access_token: 'granted',
      token_type: 'Bearer',
      expires_in: 3_600,
      scope: '',
    });
    expect(headers.get('cache-control')).toContain('no-store');
    expect(headers.get('pragma')).toBe('no-cache');
  });

  test('RFC 6749 §5.1: the answer carries what the provider gave', async () => {
    const { begin, poll, callback } = createDeviceDoor({}, async () => Response.json(ALL_FIELDS));
    const { device_code: code, state } = await begin();
    await callback(state);
    expect((await poll(code)).body).toEqual(ALL_FIELDS);
  });

  test('of all that, the door of the specification shows three fields', async () => {
    const { start, send, callback } = createDeviceDoor({}, async () => Response.json(ALL_FIELDS));
    const { session, state } = await start();
    await callback(state);
    expect(await (await send(`/auth/result?session=${session}`)).json()).toEqual({
      accessToken: 'granted',
      refreshToken: 'refresh',
      expiresIn: 3_600,
    });
  });

  test('§3.5: expired_token after expires_in, to the millisecond', async () => {
    const { begin, poll, clock } = createDeviceDoor();
    const { device_code: code, expires_in: seconds } = await begin();
    clock.advance(seconds * 1_000);
    expect((await poll(code)).body.error).toBe('authorization_pending');
    clock.advance(1);
    expect((await poll(code)).body.error).toBe('expired_token');
  });

  test('RFC 6749 §5.2: what is no device code is an invalid grant', async () => {
    const { poll } = createDeviceDoor();
    for (const code of ['guess', 'a'.repeat(25), '<script>']) {
      const { status, body, headers } = await poll(code);
      expect(status).toBe(400);
      expect(body.error).toBe('invalid_grant');
      expect(headers.get('www-authenticate')).toBeNull();
      expect(JSON.stringify(body)).not.toContain(code);
    }
  });

  test.each([
    ['nothing at all', {}, 'invalid_request'],
    ['no device code', { grant_type: DEVICE_CODE_GRANT }, 'invalid_request'],
    ['an empty grant type', { grant_type: '', device_code: 'x' }, 'invalid_request'],
    ['a password', { grant_type: 'password', username: 'a' }, 'unsupported_grant_type'],
    ['a code', { grant_type: 'authorization_code', code: 'c' }, 'unsupported_grant_type'],
  ])('RFC 6749 §5.2: %s is refused', async (_, form, error) => {
    const { token } = createDeviceDoor();
    expect(await token(form)).toMatchObject({ status: 400, body: { error } });
  });
});

/** A sign-in ends so, and every poll is answered so. */
const ENDINGS: [string, query: string, fetch: Fetch | undefined][] = [
  ['access_denied', 'error=access_denied', undefined],
  ['authorization_failed', 'error=server_error', undefined],
  ['missing_code', '', undefined],
  ['exchange_failed', 'code=c', async () => new Response('', { status: 500 })],
];

describe('an answer that ends the sign-in', () => {
  test.each(ENDINGS)('%s stays until the session expires', async (error, query, fetch) => {
    for (const deviceGrantRepeatSeconds of [60, 0]) {
      const { begin, poll, callback, clock } = createDeviceDoor(
        { deviceGrantRepeatSeconds },
        fetch,
      );
      const { device_code: code, state, expires_in: seconds } = await begin();
      await callback(state, query);
      for (const pauseMs of [0, 0, 60_001, seconds * 1_000 - 60_001]) {
        clock.advance(pauseMs);
        expect(await poll(code)).toMatchObject({ status: 400, body: { error } });
      }
      clock.advance(1);
      expect((await poll(code)).body.error).toBe('expired_token');
    }
  });

  test.each<[string, string | undefined, Fetch | undefined]>([
    ...ENDINGS,
    ['tokens', 'code=c', undefined],
    ['expired_token', undefined, undefined],
  ])(
    '%s: golang.org/x/oauth2 polls with Basic, then with the id in the body, and both are answered so',
    async (ending, query, fetch) => {
      const { begin, token, callback, clock } = createDeviceDoor({}, fetch);
      const { device_code: code, state, expires_in: seconds } = await begin();
      if (query === undefined) clock.advance(seconds * 1_000 + 1);
      else await callback(state, query);
      const form = { grant_type: DEVICE_CODE_GRANT, device_code: code };
      const withBasic = await token(form, { headers: { Authorization: `Basic ${btoa('tv:')}` } });
      const withBody = await token({ ...form, client_id: 'tv' });
      for (const { status, body } of [withBasic, withBody]) {
        if (ending === 'tokens') expect([status, body.access_token]).toEqual([200, 'granted']);
        else expect([status, body.error]).toEqual([400, ending]);
      }
    },
  );

  test('the tokens stay for DEVICE_GRANT_REPEAT_SECONDS after they were first delivered', async () => {
    const { begin, poll, callback, clock } = createDeviceDoor({ deviceGrantRepeatSeconds: 30 });
    const { device_code: code, state, expires_in: seconds } = await begin();
    clock.advance(seconds * 1_000);
    await callback(state);
    const first = await poll(code);
    expect(first.status).toBe(200);
    for (const pauseMs of [0, 29_999, 1]) {
      clock.advance(pauseMs);
      expect(await poll(code)).toMatchObject({ status: 200, body: first.body });
    }
    clock.advance(1);
    expect((await poll(code)).body.error).toBe('expired_token');
  });

  test('with 0 they are delivered strictly once', async () => {
    const { begin, poll, callback } = createDeviceDoor({ deviceGrantRepeatSeconds: 0 });
    const { device_code: code, state } = await begin();
    await callback(state);
    expect((await poll(code)).status).toBe(200);
    expect((await poll(code)).body.error).toBe('expired_token');
  });

  test('a session of /auth/start is as ever: its result is delivered once, at either endpoint', async () => {
    for (const query of ['code=c', 'error=access_denied']) {
      const { start, poll, callback } = createDeviceDoor();
      const { session, state } = await start();
      await callback(state, query);
      expect((await poll(session)).body.error).not.toBe('expired_token');
      expect((await poll(session)).body.error).toBe('expired_token');
    }
  });
});

describe('pace', () => {
  test('§3.5: a client that polls far too often is told to slow down, and may go on', async () => {
    const { begin, poll, clock } = createDeviceDoor();
    const { device_code: code } = await begin();
    const errors: unknown[] = [];
    for (let count = 0; count < 6; count += 1) errors.push((await poll(code)).body.error);
    expect(errors.slice(0, 4)).toEqual(Array.from({ length: 4 }, () => 'authorization_pending'));
    expect(errors.slice(4)).toEqual(['slow_down', 'slow_down']);
    clock.advance(10_000);
    expect((await poll(code)).body.error).toBe('authorization_pending');
  });

  test('two polls an interval and a clock a third early are forgiven for the whole of a session', async () => {
    const { begin, poll, clock } = createDeviceDoor();
    const { device_code: code, interval, expires_in: seconds } = await begin();
    const pauseMs = Math.ceil(interval * 1_000 * 0.7);
    for (let passedMs = 0; passedMs + pauseMs < seconds * 1_000; passedMs += pauseMs) {
      expect((await poll(code)).body.error).toBe('authorization_pending');
      expect((await poll(code)).body.error).toBe('authorization_pending');
      clock.advance(pauseMs);
    }
  });

  test('a completion is looked at before the pace: whoever is too early still gets the tokens', async () => {
    const { begin, poll, callback } = createDeviceDoor();
    const { device_code: code, state } = await begin();
    for (let count = 0; count < 10; count += 1) await poll(code);
    await callback(state);
    expect((await poll(code)).status).toBe(200);
  });

  test('one device does not use up the pace of another', async () => {
    const { begin, poll } = createDeviceDoor();
    const [one, other] = [await begin(), await begin()];
    for (let count = 0; count < 10; count += 1) await poll(one.device_code);
    expect((await poll(other.device_code)).body.error).toBe('authorization_pending');
  });
});

describe('RFC 7240 §4.3: Prefer: wait', () => {
  const preferring = (wait: string) => ({ headers: { Prefer: wait } });

  test('without it the answer comes at once', async () => {
    const { begin, poll } = createDeviceDoor();
    // No time passes here, so an answer that waited would never come.
    const { headers } = await poll((await begin()).device_code);
    expect(headers.get('preference-applied')).toBeNull();
  });

  test('with it the poll is held until the sign-in completes', async () => {
    const { begin, poll, callback, runReady } = createDeviceDoor();
    const { device_code: code, state } = await begin();
    const polled = poll(code, preferring('respond-async, wait=30'));
    await runReady();
    await callback(state);
    const { status, headers } = await polled;
    expect(status).toBe(200);
    expect(headers.get('preference-applied')).toBe('wait=30');
  });

  test.each([
    ['wait=10', 10],
    ['wait="10"', 10],
    ['wait=3600', 50],
  ])('%s holds %d seconds, then it is pending', async (prefer, seconds) => {
    const { begin, poll, clock, runReady } = createDeviceDoor();
    const { device_code: code } = await begin();
    let isOver = false;
    const polled = poll(code, preferring(prefer)).finally(() => {
      isOver = true;
    });
    await runReady();
    clock.advance(seconds * 1_000 - 1);
    await runReady();
    expect(isOver).toBe(false);
    clock.advance(1);
    expect((await polled).body.error).toBe('authorization_pending');
  });

  test.each(['wait=', 'wait=-1', 'wait=abc', 'await=5', 'x="wait=5'])(
    '%s asks for nothing',
    async (prefer) => {
      const { begin, poll } = createDeviceDoor();
      const { headers } = await poll((await begin()).device_code, preferring(prefer));
      expect(headers.get('preference-applied')).toBeNull();
    },
  );

  test('a draining relay says pending, never an error', async () => {
    const { begin, poll, drain, runReady } = createDeviceDoor();
    const { device_code: code } = await begin();
    const polled = poll(code, preferring('wait=50'));
    await runReady();
    await drain();
    expect(await polled).toMatchObject({ status: 400, body: { error: 'authorization_pending' } });
  });
});
