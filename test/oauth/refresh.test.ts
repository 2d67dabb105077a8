/** RFC 6749 §6: the relay refreshes with the secret that a device cannot hold. */
import { describe, expect, test } from 'bun:test';
import {
  EXCHANGE_LEASE_MS,
  REFRESH_ANSWER_MS,
  REFRESH_ANSWERS,
  REFRESH_ANSWERS_BYTES,
  REFRESH_LOOK_MS,
  UPSTREAM_RESERVE,
  UPSTREAM_SHARES,
} from '../../src/limits.ts';
import type { Fetch } from '../../src/providers/token-endpoint.ts';
import { createRefreshAnswers } from '../../src/relay/refresh-answers.ts';
import { createMemoryRefreshAnswers } from '../../src/stores/memory-refresh-answers.ts';
import { createFakeClock, runTurns } from '../support/fake-clock.ts';
import { createGate } from '../support/gate.ts';
import { createDeviceDoor } from './support/device-door.ts';

const REFRESH = { grant_type: 'refresh_token', refresh_token: 'old' };

/** Another instance asks the provider all the time. */
const UNDER_WAY = {
  refreshAnswers: { begin: async () => ({ state: 'under_way' as const }), settle: async () => {} },
};

/** Gives another token each time, as a provider does that takes each refresh token once. */
function rotate(): Fetch {
  let count = 0;
  return async () => {
    count += 1;
    return Response.json({ access_token: `access ${count}`, refresh_token: `new ${count}` });
  };
}

describe('refresh', () => {
  test('the provider is asked with the client and its secret, and its answer is passed on', async () => {
    const { token, exchanges } = createDeviceDoor({}, rotate());
    const { status, body } = await token(REFRESH, {}, 'anilist');
    expect(status).toBe(200);
    expect(body).toEqual({
      access_token: 'access 1',
      token_type: 'Bearer',
      refresh_token: 'new 1',
      scope: '',
    });
    expect(Object.fromEntries(exchanges[0] ?? [])).toEqual({
      grant_type: 'refresh_token',
      refresh_token: 'old',
      client_id: 'anilist-client',
      client_secret: 'anilist-client-secret',
    });
  });

  test('§6: a narrower scope is passed on; other parameters are for nobody', async () => {
    const { token, exchanges } = createDeviceDoor({}, rotate());
    await token({ ...REFRESH, scope: 'read', client_id: 'x', client_secret: 'y', code: 'z' });
    expect(Object.fromEntries(exchanges[0] ?? [])).toEqual({
      grant_type: 'refresh_token',
      refresh_token: 'old',
      scope: 'read',
      client_id: 'mal-client',
    });
  });

  test('without a refresh token it is an invalid request, and the provider is not asked', async () => {
    const { token, exchanges } = createDeviceDoor({}, rotate());
    expect((await token({ grant_type: 'refresh_token' })).body.error).toBe('invalid_request');
    expect(exchanges).toHaveLength(0);
  });
});

describe('single flight', () => {
  test('many at once with one token: the provider is asked once and all get its answer', async () => {
    const gate = createGate();
    const held = gate.close();
    const give = rotate();
    const { token, exchanges, runReady } = createDeviceDoor({}, async (url, init) => {
      await gate.pass();
      return give(url, init);
    });
    const asked = Array.from({ length: 10 }, () => token(REFRESH));
    await held.arrived;
    await runReady();
    held.release();
    const answers = await Promise.all(asked);
    expect(new Set(answers.map(({ body }) => body.access_token))).toEqual(new Set(['access 1']));
    expect(exchanges).toHaveLength(1);
  });

  test('a repeat within 30 s gets the same answer; later the provider is asked again', async () => {
    const { token, exchanges, clock } = createDeviceDoor({}, rotate());
    await token(REFRESH);
    clock.advance(REFRESH_ANSWER_MS);
    expect((await token(REFRESH)).body.access_token).toBe('access 1');
    clock.advance(1);
    expect((await token(REFRESH)).body.access_token).toBe('access 2');
    expect(exchanges).toHaveLength(2);
  });

  test('another token, another scope and another provider are refreshes of their own', async () => {
    const { token, exchanges } = createDeviceDoor({}, rotate());
    await token(REFRESH);
    await token({ ...REFRESH, refresh_token: 'other' });
    await token({ ...REFRESH, scope: 'read' });
    await token(REFRESH, {}, 'anilist');
    expect(exchanges).toHaveLength(4);
  });

  test('nothing is kept when its time is over', async () => {
    const { token, clock, refreshAnswers } = createDeviceDoor({}, rotate());
    await token(REFRESH);
    expect(refreshAnswers.size).toBe(1);
    clock.advance(REFRESH_ANSWER_MS + 1);
    expect(refreshAnswers.size).toBe(0);
  });

  test('more bytes than may be kept are not: all have their answer, and a repeat asks the provider', async () => {
    const long = 'x'.repeat(60_000);
    const { token, clock, exchanges, refreshAnswers } = createDeviceDoor({}, async () =>
      Response.json({ access_token: long }),
    );
    const refresh = (nth: number) => token({ ...REFRESH, refresh_token: `old ${nth}` });
    const fit = Math.floor(REFRESH_ANSWERS_BYTES / 60_100);
    for (let nth = 0; nth < fit + 10; nth += 1) {
      expect((await refresh(nth)).body.access_token).toBe(long);
    }
    const kept = refreshAnswers.size;
    expect(kept).toBeLessThan(fit + 10);
    await refresh(kept - 1);
    expect(exchanges).toHaveLength(fit + 10);
    await refresh(fit + 9);
    expect(exchanges).toHaveLength(fit + 11);
    clock.advance(REFRESH_ANSWER_MS + 1);
    await refresh(fit + 9);
    expect(refreshAnswers.size).toBe(1);
  });

  test('nor are more answers than may be kept', async () => {
    const clock = createFakeClock();
    const store = createMemoryRefreshAnswers(clock);
    const { answer } = createRefreshAnswers(store, clock);
    const refresh = (nth: number) =>
      answer(
        `old ${nth}`,
        async () => nth,
        () => true,
      );
    for (let nth = 0; nth <= REFRESH_ANSWERS; nth += 1) expect(await refresh(nth)).toBe(nth);
    expect(store.size).toBe(REFRESH_ANSWERS);
    clock.advance(REFRESH_ANSWER_MS + 1);
    await refresh(0);
    expect(store.size).toBe(1);
  });
});

describe('a refresh that fails', () => {
  const answering = (status: number, body: unknown) => async () => Response.json(body, { status });

  const DEAD = { error: 'invalid_request', message: 'The refresh token is invalid.' };

  test.each([
    ['invalid_grant', 400, { error: 'invalid_grant' }, 'invalid_grant'],
    ['invalid_grant with status 401', 401, { error: 'invalid_grant' }, 'invalid_grant'],
    ['invalid_grant with status 403', 403, { error: 'invalid_grant' }, 'invalid_grant'],
    ['invalid_grant with status 200', 200, { error: 'invalid_grant' }, 'invalid_grant'],
    ['invalid_client', 401, { error: 'invalid_client' }, 'invalid_client'],
    ['invalid_scope', 400, { error: 'invalid_scope' }, 'invalid_scope'],
    ['401 in words of its own', 401, { message: 'no' }, 'invalid_client'],
    ['401 with an error of its own', 401, { error: 'access_denied' }, 'invalid_client'],
    ['401 and no JSON', 401, [], 'invalid_client'],
    // As MyAnimeList and AniList say it; the last is also what a wrong client id leads to.
    ['Token has expired', 401, { ...DEAD, hint: 'Token has expired' }, 'invalid_grant'],
    ['Token has been revoked', 401, { ...DEAD, hint: 'Token has been revoked' }, 'invalid_grant'],
    [
      'Token is not linked to client',
      401,
      { ...DEAD, hint: 'Token is not linked to client' },
      'invalid_request',
    ],
    ['bad_refresh_token (GitHub)', 200, { error: 'bad_refresh_token' }, 'invalid_grant'],
    ['invalid_refresh_token (Slack)', 200, { error: 'invalid_refresh_token' }, 'invalid_grant'],
    [
      'Invalid refresh token (Twitch)',
      400,
      { error: 'Bad Request', status: 400, message: 'Invalid refresh token' },
      'invalid_grant',
    ],
  ])('because of %s is told as that', async (_, status, body, error) => {
    const { token } = createDeviceDoor({}, answering(status, body));
    expect(await token(REFRESH)).toMatchObject({ status: 400, body: { error } });
  });

  test('is remembered for 30 s too, so that the provider hears of a dead token once', async () => {
    const { token, exchanges } = createDeviceDoor({}, answering(400, { error: 'invalid_grant' }));
    await token(REFRESH);
    expect((await token(REFRESH)).body.error).toBe('invalid_grant');
    expect(exchanges).toHaveLength(1);
  });

  test.each<[string, Fetch]>([
    ['fails', answering(500, {})],
    ['says to come again', answering(400, { error: 'temporarily_unavailable' })],
    ['has a limit of its own', answering(403, { error: 'rate_limit_exceeded' })],
    ['says 400 in words of its own', answering(400, { message: 'no' })],
    ['says 400 and no JSON', answering(400, [])],
    [
      'says 200 with an error of its own',
      answering(200, { error: 'incorrect_client_credentials' }),
    ],
    ['says to come again with 401', answering(401, { error: 'temporarily_unavailable' })],
    ['fails with a standard error', answering(500, { error: 'invalid_grant' })],
    ['stands behind a firewall', async () => new Response('<html>', { status: 403 })],
    ['has too much to do', answering(429, {})],
    ['cannot be reached', async () => Promise.reject(new Error('down'))],
    ['talks nonsense', async () => new Response('<html>')],
  ])(
    'because the provider %s leaves the device its token: 503, and asked again next time',
    async (_, fetch) => {
      const { token, exchanges } = createDeviceDoor({}, fetch);
      expect(await token(REFRESH)).toMatchObject({
        status: 503,
        body: { error: 'temporarily_unavailable' },
      });
      await token(REFRESH);
      expect(exchanges).toHaveLength(2);
    },
  );

  test('a store that is away is no verdict on the token either', async () => {
    const down = async () => Promise.reject(new Error('down'));
    const { token } = createDeviceDoor({}, rotate(), {
      refreshAnswers: { begin: down, settle: down },
    });
    expect(await token(REFRESH)).toMatchObject({ status: 503 });
  });

  test('an answer that could not be kept is passed on all the same', async () => {
    const { token } = createDeviceDoor({}, rotate(), {
      refreshAnswers: {
        begin: async () => ({ state: 'yours' }),
        settle: async () => Promise.reject(new Error('down')),
      },
    });
    expect((await token(REFRESH)).body.access_token).toBe('access 1');
  });
});

describe('a relay that is being stopped', () => {
  test('finishes the refreshes under way, as their tokens may be spent', async () => {
    const gate = createGate();
    const held = gate.close();
    const give = rotate();
    const { token, drain } = createDeviceDoor({}, async (url, init) => {
      await gate.pass();
      return give(url, init);
    });
    const asked = token(REFRESH);
    await held.arrived;
    let isOver = false;
    const drained = drain().then(() => {
      isOver = true;
    });
    const late = await token({ ...REFRESH, refresh_token: 'late' });
    expect(late).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } });
    expect(isOver).toBe(false);
    held.release();
    expect((await asked).body.access_token).toBe('access 1');
    await drained;
  });

  test('does not wait for another instance, whose tokens the device gets there: 503', async () => {
    const { token, drain, clock, runReady, exchanges } = createDeviceDoor({}, rotate(), UNDER_WAY);
    const asked = token(REFRESH);
    await runTurns();
    const drained = drain();
    clock.advance(REFRESH_LOOK_MS);
    await runReady();
    await drained;
    expect(await asked).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } });
    expect(exchanges).toHaveLength(0);
  });
});

test('as many as may be at one provider: the next one is not sent, and others than that go on', async () => {
  const gate = createGate();
  const held = gate.close();
  const give = rotate();
  const hang: Fetch = async (url, init) => {
    if (url.includes('mal.test')) await gate.pass();
    return give(url, init);
  };
  // One for each provider.
  const parts = { fetchesAtOnce: UPSTREAM_RESERVE + UPSTREAM_SHARES };
  const { token, exchanges } = createDeviceDoor({}, hang, parts);
  const first = token(REFRESH);
  await held.arrived;
  const refused = await token({ ...REFRESH, refresh_token: 'another' });
  expect(refused).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } });
  expect(exchanges).toHaveLength(1);
  expect((await token(REFRESH, {}, 'anilist')).status).toBe(200);
  held.release();
  expect((await first).status).toBe(200);
  expect((await token({ ...REFRESH, refresh_token: 'another' })).status).toBe(200);
});

test('another instance that has the turn for longer than a lease is not raced: 503, and the token is not sent', async () => {
  const { token, clock, runReady, exchanges } = createDeviceDoor({}, rotate(), UNDER_WAY);
  const asked = token(REFRESH);
  await runTurns();
  for (let ms = 0; ms <= EXCHANGE_LEASE_MS + REFRESH_LOOK_MS; ms += REFRESH_LOOK_MS) {
    clock.advance(REFRESH_LOOK_MS);
    await runReady();
  }
  expect(await asked).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } });
  expect(exchanges).toHaveLength(0);
});

test('refreshes of one address have a limit of their own, in the terms of the RFC', async () => {
  const { send, clock } = createDeviceDoor({}, rotate());
  const refresh = (token: string) =>
    send('/oauth2/mal/token', {
      method: 'POST',
      body: new URLSearchParams({ ...REFRESH, refresh_token: token }),
    });
  for (let count = 0; count < 10; count += 1) {
    expect((await refresh(`token ${count}`)).status).toBe(200);
  }
  const response = await refresh('one more');
  expect(response.status).toBe(429);
  expect(response.headers.get('retry-after')).toBe('2');
  expect(await response.json()).toMatchObject({ error: 'slow_down' });
  clock.advance(2_000);
  expect((await refresh('one more')).status).toBe(200);
});
