/** Open sign-ins: what a client may send, where its user may be sent, and what comes back. docs/open.md. */
import { describe, expect, test } from 'bun:test';
import { acknowledge, poll, pollOnce } from '../kit/device.ts';
import { BASE_URL, createTestService, type TestServiceOptions } from '../kit/service.ts';
import { createUser, decide, textOf } from '../kit/user.ts';

const ENDPOINT = 'https://accounts.provider.test/authorize';
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
const ASKED = {
  response_type: 'code',
  client_id: 'own-client',
  scope: 'a b',
  code_challenge: CHALLENGE,
  code_challenge_method: 'S256',
};

const urlOf = (query: Record<string, string> = ASKED, endpoint = ENDPOINT) =>
  `${endpoint}?${new URLSearchParams(query)}`;

function createOpenService(more: object = {}, options: TestServiceOptions = {}) {
  return createTestService({ openEndpoints: [ENDPOINT], startBurst: 1_000, ...more }, options);
}

type Service = ReturnType<typeof createOpenService>;

const ask = (service: Service, body: object, peer?: string) =>
  service.ask('/open', { method: 'POST', body: JSON.stringify(body) }, peer);

interface Started {
  readonly session: string;
  readonly url: string;
  readonly link?: string;
}

async function begin(service: Service, authorizationUrl = urlOf(), more: object = {}) {
  const response = await ask(service, { authorizationUrl, ...more });
  expect(response.status).toBe(200);
  return (await response.json()) as Started;
}

const refusalOf = async (service: Service, authorizationUrl: unknown) => {
  const response = await ask(service, { authorizationUrl });
  return [response.status, (await response.text()).trim()];
};

test('a whole open sign-in: confirmation, the provider with the relay as redirect URI, and the query of the callback, once', async () => {
  const asked: string[] = [];
  const fetch = async (url: string) => {
    asked.push(url);
    return new Response('{}');
  };
  const service = createOpenService({}, { fetch });
  const own = { ...ASKED, state: 'of-the-client', redirect_uri: 'http://localhost/own' };
  const started = await begin(service, urlOf(own), { device: 'A shell', ack: true });
  expect({ ...started }).toMatchObject({
    url: expect.stringMatching(/^https:\/\/relay\.test\/open\?state=[\w-]{24}$/),
    redirectUri: `${BASE_URL}/open/callback`,
    expiresIn: 600,
  });
  const page = await textOf(await service.ask(started.url));
  expect(page).toContain('accounts.provider.test');
  expect(page).toContain('A shell');
  expect(page).not.toContain('own-client');

  const user = createUser(service);
  const { headers, status } = await user.decide(started.url, 'continue');
  const sent = new URL(headers.get('location') ?? '');
  expect([status, sent.origin + sent.pathname]).toEqual([303, ENDPOINT]);
  const { state: browserState = '', ...rest } = Object.fromEntries(sent.searchParams);
  expect(rest).toEqual({ ...ASKED, redirect_uri: `${BASE_URL}/open/callback` });
  expect(started.url).toEndWith(browserState);

  const query = `state=${browserState}&code=a%2Fb&iss=${encodeURIComponent('https://i.test')}`;
  const back = await user.open(`/open/callback?${query}`);
  expect(back.status).toBe(200);
  const result = {
    callback: { code: 'a/b', iss: 'https://i.test', state: 'of-the-client' },
    redirectUri: `${BASE_URL}/open/callback`,
  };
  expect(await (await poll(service, started.session)).json()).toEqual(result);
  expect(await (await poll(service, started.session)).json()).toEqual(result);
  expect((await acknowledge(service, started.session)).status).toBe(204);
  expect((await pollOnce(service, started.session)).status).toBe(410);
  expect(asked).toEqual([]);
});

test('by a code, and a client without a state gets none', async () => {
  const service = createOpenService();
  const { link = '', session } = await begin(service, urlOf(), { code: true });
  const user = createUser(service);
  const { headers } = await user.decide(link, 'continue');
  const state = new URL(headers.get('location') ?? '').searchParams.get('state');
  await user.open(`/open/callback?state=${state}&code=c`);
  expect(await (await poll(service, session)).json()).toMatchObject({ callback: { code: 'c' } });
});

test.each([
  ['access_denied', 'access_denied'],
  ['server_error', 'authorization_failed'],
  ['', 'missing_code'],
])('a callback with the error %p ends it as any other', async (error, ending) => {
  const service = createOpenService();
  const { url, session } = await begin(service);
  const user = createUser(service);
  await user.decide(url, 'continue');
  const state = new URL(url).searchParams.get('state');
  await user.open(`/open/callback?state=${state}&error=${error}`);
  expect(await (await poll(service, session)).json()).toEqual({ error: ending });
});

test('a user who declines on the confirmation page', async () => {
  const service = createOpenService();
  const { url, session } = await begin(service);
  expect(await textOf(await decide(service, url, 'decline'))).toContain('Sign-in cancelled');
  expect(await (await poll(service, session)).json()).toEqual({ error: 'access_denied' });
});

describe('nobody is sent anywhere else', () => {
  const query = urlOf().slice(ENDPOINT.length);

  test.each([
    ['another host', `https://evil.test/authorize${query}`],
    ['another path', `https://accounts.provider.test/redirect${query}`],
    ['a path that leads back', `https://accounts.provider.test/x/../authorize${query}`],
    ['an encoded path', `https://accounts.provider.test/%61uthorize${query}`],
    ['an encoded slash', `https://accounts.provider.test/%2Fauthorize${query}`],
    ['a trailing slash', `${ENDPOINT}/${query}`],
    ['another port', `https://accounts.provider.test:8443/authorize${query}`],
    ['the default port', `https://accounts.provider.test:443/authorize${query}`],
    ['http', `http://accounts.provider.test/authorize${query}`],
    ['a user name', `https://accounts.provider.test@evil.test/authorize${query}`],
    [
      'a user name that looks like the host',
      `https://a:b@accounts.provider.test/authorize${query}`,
    ],
    ['a backslash', `https://evil.test\\@accounts.provider.test/authorize${query}`],
    ['backslashes', `https:\\\\accounts.provider.test\\authorize${query}`],
    ['a trailing dot', `https://accounts.provider.test./authorize${query}`],
    ['capitals', `HTTPS://Accounts.Provider.test/authorize${query}`],
    ['a name that is not ASCII', `https://accounts.provid\u0435r.test/authorize${query}`],
    ['a full-width character', `https://accounts\uff0eprovider.test/authorize${query}`],
    ['a tab', `https://accounts.provider.test/\tauthorize${query}`],
    ['a space before', ` ${ENDPOINT}${query}`],
    ['a script', `javascript:alert(1)//${query}`],
    ['a fragment', `${ENDPOINT}${query}#x`],
    ['no query', ENDPOINT],
    ['no host', `https:///authorize${query}`],
    ['too long', `${urlOf()}&x=${'a'.repeat(2_000)}`],
    ['a list', [ENDPOINT]],
    ['nothing', undefined],
  ])('%s', async (_, authorizationUrl) => {
    const service = createOpenService();
    expect(await refusalOf(service, authorizationUrl)).toEqual([
      400,
      expect.stringMatching(/^Invalid request: authorizationUrl /),
    ]);
  });

  test('with * any https endpoint, and nothing else', async () => {
    const service = createOpenService({ openEndpoints: '*' });
    await begin(service, urlOf(ASKED, 'https://any.test/oauth/authorize'));
    for (const url of [
      `http://any.test/authorize${query}`,
      `https://any.test@evil.test/${query}`,
    ]) {
      expect((await refusalOf(service, url))[0]).toBe(400);
    }
  });
});

test.each([
  ['a token in the URL', { ...ASKED, response_type: 'token' }],
  ['both', { ...ASKED, response_type: 'code id_token' }],
  ['no client id', { ...ASKED, client_id: '' }],
  ['no challenge', { ...ASKED, code_challenge: '' }],
  ['a verifier as challenge', { ...ASKED, code_challenge_method: 'plain' }],
  ['a request object', { ...ASKED, request: 'x' }],
  ['a pushed request', { ...ASKED, request_uri: 'urn:x' }],
  ['another response mode', { ...ASKED, response_mode: 'form_post' }],
])('%s is refused', async (_, query) => {
  expect((await refusalOf(createOpenService(), urlOf(query)))[0]).toBe(400);
});

describe('the callback', () => {
  test('and the link of another kind of sign-in are not mixed up', async () => {
    const service = createOpenService();
    const { url } = await begin(service);
    const state = new URL(url).searchParams.get('state');
    const own = await service.ask('/auth/start', { method: 'POST', body: '{"service":"mal"}' });
    const ownState = new URL(((await own.json()) as Started).url).searchParams.get('state');
    for (const path of [
      `/auth/mal?state=${state}`,
      `/auth/mal/callback?state=${state}&code=c`,
      `/auth/open%20accounts.provider.test?state=${state}`,
      `/auth/open%20accounts.provider.test/callback?state=${state}&code=c`,
      `/open?state=${ownState}`,
      `/open/callback?state=${ownState}&code=c`,
    ]) {
      expect([path, (await service.ask(path)).status]).toEqual([path, 404]);
    }
  });
});

test('a relay that does not enable them has none of it', async () => {
  const service = createTestService();
  expect((await ask(service, { authorizationUrl: urlOf() })).status).toBe(404);
  for (const path of ['/open?state=x', '/open/callback', '/open/client.json']) {
    expect([path, (await service.ask(path)).status]).toEqual([path, 404]);
  }
  const { extensions } = (await (await service.ask('/services')).json()) as {
    extensions: string[];
  };
  expect(extensions).not.toContain('open');
});

test('they have a limit of their own, and half of MAX_SESSIONS', async () => {
  const limited = createOpenService({ startBurst: 2 });
  const peer = '192.0.2.7';
  const statuses: number[] = [];
  for (let count = 0; count < 3; count += 1) {
    statuses.push((await ask(limited, { authorizationUrl: urlOf() }, peer)).status);
  }
  expect(statuses).toEqual([200, 200, 429]);
  const init = { method: 'POST', body: '{"service":"mal"}' };
  expect((await limited.ask('/auth/start', init, peer)).status).toBe(200);

  const small = createOpenService({ maxSessions: 4 });
  for (let count = 0; count < 2; count += 1) await begin(small);
  expect((await ask(small, { authorizationUrl: urlOf() })).status).toBe(503);
  const other = await small.ask('/auth/start', { method: 'POST', body: '{"service":"mal"}' });
  expect(other.status).toBe(200);
});

test('the client metadata document names itself, and the redirect URI', async () => {
  const response = await createOpenService().ask('/open/client.json');
  expect(await response.json()).toMatchObject({
    client_id: `${BASE_URL}/open/client.json`,
    redirect_uris: [`${BASE_URL}/open/callback`],
    token_endpoint_auth_method: 'none',
  });
});
