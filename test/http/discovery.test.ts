/**
 * What the service does by itself: it sweeps, and asks issuers for their addresses.
 * Until an issuer has answered, requests of its sign-ins, which another instance may
 * have started, get a 503: nothing is lost and nothing is final.
 */
import { describe, expect, test } from 'bun:test';
import { runReady, runTurns } from '../kit/clock.ts';
import {
  authorizeDevice,
  pollToken,
  postForm,
  refresh,
  start,
  startRequest,
  startWithCode,
} from '../kit/device.ts';
import { DISCOVERY_RETRY_MS, SWEEP_INTERVAL_MS } from '../kit/limits.ts';
import { discoveryDocumentOf } from '../kit/provider.ts';
import {
  ACME,
  acmeAt,
  captureLog,
  createTestService,
  type Fetch,
  SETTINGS,
} from '../kit/service.ts';
import { callback, createUser, decide } from '../kit/user.ts';

const ISSUER = 'https://acme.test';
const RETRY_AFTER = String(DISCOVERY_RETRY_MS / 1_000);

/** A service whose provider `acme` is discovered after `discoverNow`; another instance has it already. */
async function createUndiscovered(confirm: 'code' | 'always' = 'code') {
  let isAnswering = false;
  const fetch: Fetch = async (url) => {
    if (!url.includes('.well-known')) return Response.json({ access_token: 'granted' });
    return Response.json(discoveryDocumentOf(ISSUER), { status: isAnswering ? 200 : 503 });
  };
  const providers = [...SETTINGS.providers, acmeAt(ISSUER)];
  const service = createTestService({ confirm, providers, fetch });
  await service.discover();
  return {
    ...service,
    /** Another instance, which knows the provider. */
    createOther: () => createTestService({ confirm, providers: [ACME], sharing: service }),
    setAnswering: () => {
      isAnswering = true;
    },
    async discoverNow() {
      isAnswering = true;
      service.clock.advance(DISCOVERY_RETRY_MS);
      await runTurns();
    },
  };
}

describe('while an issuer has not answered', () => {
  test('it is asked again every 30 s; until it answers starts and refreshes get a 503', async () => {
    const log = captureLog();
    const service = await createUndiscovered();
    for (let tries = 1; tries <= 2; tries += 1) {
      expect(service.sent).toHaveLength(tries);
      // The same problem is logged once.
      expect(log.named('provider_not_discovered')).toHaveLength(1);
      const refused = await service.ask('/auth/start', startRequest('acme'));
      expect([refused.status, await refused.text()]).toEqual([503, 'Server busy\n']);
      expect(refused.headers.get('retry-after')).toBe(RETRY_AFTER);
      const body = JSON.stringify({ service: 'acme', refreshToken: 'old' });
      const refresh = await service.ask('/refresh', { method: 'POST', body });
      expect([refresh.status, refresh.headers.get('retry-after')]).toEqual([503, RETRY_AFTER]);
      if (tries === 2) service.setAnswering();
      service.clock.advance(DISCOVERY_RETRY_MS - 1);
      await runTurns();
      expect(service.sent).toHaveLength(tries);
      service.clock.advance(1);
      await runTurns();
    }
    expect(log.named('provider_discovered')).toMatchObject([{ level: 'info', service: 'acme' }]);
    await start(service, 'acme');
    service.clock.advance(10 * DISCOVERY_RETRY_MS);
    await runTurns();
    expect(service.sent).toHaveLength(3);
    // An unknown provider is something else.
    expect((await service.ask('/auth/start', startRequest('nobody'))).status).toBe(400);
  });

  test('a callback is the 503 page, and its code is exchanged at the next request', async () => {
    const service = await createUndiscovered();
    const { state, session } = await start(service.createOther(), 'acme');
    const page = await callback(service, state, 'code=c', 'acme');
    expect([page.status, page.headers.get('retry-after')]).toEqual([503, RETRY_AFTER]);
    expect(await page.text()).toContain('Please try again');
    expect(service.sent.filter(({ fields }) => 'code' in fields)).toEqual([]);
    await service.discoverNow();
    expect((await callback(service, state, 'code=c', 'acme')).status).toBe(200);
    expect((await pollToken(service, session, {}, {}, 'acme')).body).toMatchObject({
      access_token: 'granted',
    });
  });

  test('a link, a short link and Continue are the 503 page, and work later', async () => {
    const service = await createUndiscovered();
    const { link, url } = await startWithCode(service.createOther(), {}, 'acme');
    const user = createUser(service);
    const visits = [() => user.open(url), () => user.decide(link, 'continue')];
    for (const visit of [...visits, () => user.open(link)]) {
      expect((await visit()).status).toBe(503);
    }
    await service.discoverNow();
    for (const visit of visits) {
      expect((await visit()).headers.get('location')).toStartWith(`${ISSUER}/authorize?`);
    }
  });

  test('a user can decline nevertheless: that needs no provider', async () => {
    const service = await createUndiscovered();
    const { link, session } = await startWithCode(service.createOther(), {}, 'acme');
    expect((await decide(service, link, 'decline')).status).toBe(200);
    expect((await pollToken(service, session, {}, {}, 'acme')).body).toMatchObject({
      error: 'access_denied',
    });
  });

  test('the device grant: an authorization and a refresh are 503 temporarily_unavailable', async () => {
    const service = await createUndiscovered();
    for (const answer of [
      await postForm(service, '/oauth2/acme/device_authorization', {}),
      await refresh(service, 'a token', {}, 'acme'),
    ]) {
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, RETRY_AFTER]);
      expect(answer.body).toMatchObject({ error: 'temporarily_unavailable' });
    }
  });

  test('the device grant: polls and metadata need no provider', async () => {
    const service = await createUndiscovered();
    const { deviceCode } = await authorizeDevice(service.createOther(), {}, 'acme');
    expect(await pollToken(service, deviceCode, {}, {}, 'acme')).toMatchObject({
      status: 400,
      body: { error: 'authorization_pending' },
    });
    const metadata = await service.ask('/oauth2/acme/.well-known/openid-configuration');
    expect(await metadata.json()).toMatchObject({ issuer: 'https://relay.test/oauth2/acme' });
  });
});

test('an issuer that has moved its token endpoint: the hint is to restart', async () => {
  const log = captureLog();
  const fetch: Fetch = async (url) =>
    url.includes('.well-known')
      ? Response.json(discoveryDocumentOf(ISSUER))
      : new Response('moved', { status: 404 });
  const service = createTestService({ providers: [acmeAt(ISSUER)], fetch });
  await service.discover();
  await callback(service, (await start(service, 'acme')).state, 'code=c', 'acme');
  expect(log.named('exchange_failed')[0]?.hint).toContain(
    'restart the relay, which then reads the metadata of ACME_ISSUER again, or correct ACME_TOKEN_URL',
  );
});

test('sweeping continues after a sweep that failed', async () => {
  let sweeps = 0;
  const { clock } = createTestService({
    beforeStore(verb) {
      if (verb !== 'sweep') return;
      sweeps += 1;
      throw new TypeError('a bug in the store');
    },
  });
  for (let round = 0; round < 3; round += 1) {
    clock.advance(SWEEP_INTERVAL_MS);
    await runReady();
  }
  expect(sweeps).toBe(3);
});

test('a closed service sweeps no more, asks no issuer again, and sets no timer', async () => {
  const service = await createUndiscovered();
  await start(service);
  service.close();
  service.clock.advance(600_000 + SWEEP_INTERVAL_MS + DISCOVERY_RETRY_MS);
  await runTurns();
  expect([service.kept().sessions, service.sent.length, service.clock.timers]).toEqual([1, 1, 0]);
});
