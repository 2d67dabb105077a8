/**
 * A provider whose issuer has not told its addresses: of its sign-ins, which
 * another instance may have begun, nothing is lost and nothing is final.
 */
import { expect, test } from 'bun:test';
import { DISCOVERY_RETRY_MS } from '../../src/limits.ts';
import { createDeviceDoor } from '../oauth/support/device-door.ts';
import { runTurns } from '../support/fake-clock.ts';
import { startOf } from '../support/test-service.ts';

const ISSUER = 'https://login.acme.test';
const SESSION = {
  service: 'acme',
  browserState: 'browser-state-of-24-char',
  pollSecret: 'poll-secret-of-24-chars-',
  userCode: 'BCDFGHJK',
  lifetimeMs: 600_000,
};
const RETRY_AFTER = String(DISCOVERY_RETRY_MS / 1_000);
const SHORT_LINK = '/L/BCDF-GHJK';
const CONTINUE = { method: 'POST', body: new URLSearchParams({ choice: 'continue' }) };

/** A service with a session of `acme`, which is discovered by `discoverNow`. */
async function createUndiscovered(confirm: 'code' | 'always' = 'code') {
  const acme = { name: 'acme', displayName: 'Acme', issuer: ISSUER, clientId: 'acme-client' };
  let isThere = false;
  const service = createDeviceDoor(
    { confirm, discoveries: [{ ...acme, authorizeParams: {} }] },
    async (url) => {
      if (url.includes('.well-known')) {
        return Response.json(
          {
            issuer: ISSUER,
            authorization_endpoint: `${ISSUER}/authorize`,
            token_endpoint: `${ISSUER}/token`,
          },
          { status: isThere ? 200 : 503 },
        );
      }
      return Response.json({ access_token: 'granted' });
    },
  );
  await service.discover();
  await service.store.register(SESSION, service.clock.now());
  return {
    ...service,
    async discoverNow() {
      isThere = true;
      service.clock.advance(DISCOVERY_RETRY_MS);
      await runTurns();
    },
  };
}

test('a start is 503 with Retry-After, not the 400 of an unknown service', async () => {
  const { send } = await createUndiscovered();
  const answer = await send('/auth/start', startOf('acme'));
  expect([answer.status, await answer.text()]).toEqual([503, 'Server busy\n']);
  expect(answer.headers.get('retry-after')).toBe(RETRY_AFTER);
  expect((await send('/auth/start', startOf('nobody'))).status).toBe(400);
});

test('a callback is the 503 page, and its code is exchanged when the browser asks again', async () => {
  const { callback, poll, exchanges, discoverNow } = await createUndiscovered();
  const page = await callback(SESSION.browserState, 'code=c', 'acme');
  expect([page.status, page.headers.get('retry-after')]).toEqual([503, RETRY_AFTER]);
  expect(await page.text()).toContain('Please try again');
  expect(exchanges.filter((body) => body.has('code'))).toEqual([]);
  await discoverNow();
  expect((await callback(SESSION.browserState, 'code=c', 'acme')).status).toBe(200);
  expect((await poll(SESSION.pollSecret)).body).toMatchObject({ access_token: 'granted' });
});

test('a link is the 503 page, and leads on later', async () => {
  const { send, discoverNow } = await createUndiscovered();
  const link = `/auth/acme?state=${SESSION.browserState}`;
  expect((await send(link)).status).toBe(503);
  await discoverNow();
  expect((await send(link)).headers.get('location')).toStartWith(`${ISSUER}/authorize?`);
});

test('a short link is the 503 page, and whoever used its code is led on later', async () => {
  const { send, discoverNow } = await createUndiscovered();
  expect((await send(SHORT_LINK)).status).toBe(503);
  const page = await send(SHORT_LINK, CONTINUE);
  expect(page.status).toBe(503);
  await discoverNow();
  const [cookie = ''] = page.headers.get('set-cookie')?.split(';') ?? [];
  const again = await send(SHORT_LINK, { ...CONTINUE, headers: { Cookie: cookie } });
  expect([again.status, again.headers.get('location')]).toEqual([
    303,
    expect.stringContaining(`${ISSUER}/authorize?`),
  ]);
});

test('with CONFIRM=always the link is the 503 page too', async () => {
  const { send } = await createUndiscovered('always');
  const link = `/auth/acme?state=${SESSION.browserState}`;
  expect((await send(link)).status).toBe(503);
  expect((await send(link, CONTINUE)).status).toBe(503);
});

test('the device grant: a start and a refresh are 503 temporarily_unavailable', async () => {
  const { post } = await createUndiscovered();
  const answers = await Promise.all([
    post('/oauth2/acme/device_authorization', {}),
    post('/oauth2/acme/token', { grant_type: 'refresh_token', refresh_token: 'a token' }),
  ]);
  for (const answer of answers) {
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, RETRY_AFTER]);
    expect(await answer.json()).toMatchObject({ error: 'temporarily_unavailable' });
  }
});

test('the device grant: polls and metadata need no provider', async () => {
  const { poll, send } = await createUndiscovered();
  const polled = await poll(SESSION.pollSecret);
  expect([polled.status, polled.body.error]).toEqual([400, 'authorization_pending']);
  const metadata = await send('/oauth2/acme/.well-known/openid-configuration');
  expect(await metadata.json()).toMatchObject({ issuer: 'https://relay.test/oauth2/acme' });
  expect((await send('/oauth2/nobody/.well-known/openid-configuration')).status).toBe(404);
});
