/** RFC 8628 §3.1 and §3.2: what a device asks for, and what it is told. */
import { describe, expect, test } from 'bun:test';
import { BASE_URL } from '../support/test-service.ts';
import { createDeviceDoor } from './support/device-door.ts';

describe('device authorization', () => {
  test('§3.2: every field is there, and the link holds the code', async () => {
    const { begin } = createDeviceDoor();
    const { response, state: _, ...answer } = await begin();
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.get('cache-control')).toContain('no-store');
    expect(answer).toEqual({
      device_code: expect.stringMatching(/^[\w-]{24}$/),
      user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
      verification_uri: `${BASE_URL}/link`,
      verification_uri_complete: `${BASE_URL}/L/${answer.user_code}`,
      expires_in: 600,
      interval: 5,
    });
  });

  test('§3.1: a client id is neither needed nor looked at; unknown parameters are for nobody', async () => {
    const { begin, post } = createDeviceDoor();
    expect((await begin('mal', {})).response.status).toBe(200);
    const strange = { client_id: 'anybody', scope: 'a b', audience: 'x', nonce: 'y' };
    expect((await begin('mal', strange)).response.status).toBe(200);
    const authorization = { Authorization: `Basic ${btoa('anybody:')}` };
    const path = '/oauth2/mal/device_authorization';
    expect((await post(path, {}, { headers: authorization })).status).toBe(200);
  });

  test('a JSON body is read as well as a form, and none is enough', async () => {
    const { post, store, clock } = createDeviceDoor();
    const path = '/oauth2/mal/device_authorization';
    const headers = { 'Content-Type': 'application/json' };
    const asJson = { headers, body: JSON.stringify({ client_id: 'x', device: 'TV' }) };
    const { user_code: code } = (await (await post(path, {}, asJson)).json()) as {
      user_code: string;
    };
    const found = await store.find({ userCode: code.replace('-', '') }, clock.now());
    expect(found?.deviceName).toBe('TV');
    expect((await post(path, {}, { body: null })).status).toBe(200);
  });

  test('RFC 8707 §2: parameters that nobody reads may come twice', async () => {
    const { post } = createDeviceDoor();
    const body = 'resource=https%3A%2F%2Fa.example&resource=https%3A%2F%2Fb.example';
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const response = await post('/oauth2/mal/device_authorization', {}, { body, headers });
    expect(response.status).toBe(200);
  });

  test.each([
    ['a parameter twice (RFC 6749 §3.2)', 'device=a&device=b', undefined],
    ['JSON that is none', '{', 'application/json'],
    ['more than a body may hold', `device=${'a'.repeat(20_000)}`, undefined],
  ])('%s is an invalid request', async (_, body, type) => {
    const { post } = createDeviceDoor();
    const headers = { 'Content-Type': type ?? 'application/x-www-form-urlencoded' };
    const response = await post('/oauth2/mal/device_authorization', {}, { body, headers });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: 'invalid_request' });
  });

  test('the limit of /auth/start holds here too, in the terms of the RFC', async () => {
    const { send } = createDeviceDoor();
    const ask = () => send('/oauth2/mal/device_authorization', { method: 'POST' });
    await send('/auth/start', { method: 'POST', body: '{"service":"mal"}' });
    await ask();
    await ask();
    const response = await ask();
    expect(response.status).toBe(400);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(await response.json()).toMatchObject({ error: 'slow_down' });
  });

  test('the cap of live sessions holds here too', async () => {
    const { begin, post } = createDeviceDoor({ maxSessions: 1 });
    await begin();
    const response = await post('/oauth2/mal/device_authorization', {});
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: 'temporarily_unavailable' });
  });

  test.each([
    ['an unknown provider', 'POST', '/oauth2/nobody/device_authorization', 404, 'not_found'],
    ['an unknown address', 'POST', '/oauth2/mal/nothing', 404, 'not_found'],
    ['a provider alone', 'GET', '/oauth2/mal', 404, 'not_found'],
    ['GET', 'GET', '/oauth2/mal/device_authorization', 405, 'method_not_allowed'],
    ['HEAD', 'HEAD', '/oauth2/mal/token', 405, undefined],
    ['an escaped name', 'POST', '/oauth2/%6dal/device_authorization', 404, 'not_found'],
  ])('%s is refused as JSON', async (_, method, path, status, error) => {
    const { send } = createDeviceDoor();
    const response = await send(path, { method });
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toBe('application/json');
    if (error !== undefined) expect(await response.json()).toMatchObject({ error });
  });
});

describe('metadata', () => {
  const PLACES = [
    '/.well-known/oauth-authorization-server/oauth2/mal',
    '/oauth2/mal/.well-known/openid-configuration',
  ];

  test.each(PLACES)(
    'RFC 8414 §3: at %s the issuer is the address it was asked for',
    async (path) => {
      const { send } = createDeviceDoor();
      const response = await send(path);
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual({
        issuer: `${BASE_URL}/oauth2/mal`,
        device_authorization_endpoint: `${BASE_URL}/oauth2/mal/device_authorization`,
        token_endpoint: `${BASE_URL}/oauth2/mal/token`,
        grant_types_supported: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
        response_types_supported: [],
        token_endpoint_auth_methods_supported: ['none'],
      });
    },
  );

  test('RFC 8414 §3.1: under a base path the well-known name stands before it', async () => {
    const { send } = createDeviceDoor({ baseUrl: `${BASE_URL}/relay` });
    const path = '/.well-known/oauth-authorization-server/relay/oauth2/mal';
    const { issuer } = (await (await send(path)).json()) as { issuer: string };
    expect(issuer).toBe(`${BASE_URL}/relay/oauth2/mal`);
    const other = '/relay/oauth2/mal/.well-known/openid-configuration';
    expect((await send(other)).status).toBe(200);
  });

  test('there is none for a provider that is not offered', async () => {
    const { send } = createDeviceDoor();
    for (const path of PLACES) {
      expect((await send(path.replace('mal', 'nobody'))).status).toBe(404);
    }
  });
});

test('RFC 8414 §3.3: under a base path there is no metadata where another issuer would have it', async () => {
  const { send } = createDeviceDoor({ baseUrl: `${BASE_URL}/relay` });
  expect((await send('/.well-known/oauth-authorization-server/oauth2/mal')).status).toBe(404);
});
