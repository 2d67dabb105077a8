/** Open sign-ins: what a client may send, where its user may be sent, and what comes back. docs/open.md. */
import { describe, expect, test } from 'bun:test';
import { acknowledge, poll, pollOnce, UNKNOWN_SECRET } from '../kit/device.ts';
import { readPng, scan } from '../kit/qr.ts';
import {
  BASE_URL,
  captureLog,
  createTestService,
  type TestServiceOptions,
} from '../kit/service.ts';
import { createUser, textOf } from '../kit/user.ts';

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

function createOpenService(options: TestServiceOptions = {}) {
  return createTestService({ openEndpoints: [ENDPOINT], startBurst: 1_000, ...options });
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

/** Until the user is at the provider. */
async function beginAndContinue(service: Service, authorizationUrl = urlOf(), more: object = {}) {
  const { session, url, link = url } = await begin(service, authorizationUrl, more);
  const user = createUser(service);
  const { headers } = await user.decide(link, 'continue');
  const location = headers.get('location') ?? '';
  const state = new URL(location).searchParams.get('state');
  return { session, user, link, location, state, callback: `/open/callback?state=${state}` };
}

const refusalOf = async (service: Service, authorizationUrl: unknown) => {
  const response = await ask(service, { authorizationUrl });
  return [response.status, (await response.text()).trim()];
};

test('the picture for a browser state has the link of an open sign-in', async () => {
  const service = createOpenService();
  const { url } = await begin(service);
  const picture = await service.ask(`/qr/${new URL(url).searchParams.get('state')}.png`);
  expect(scan(readPng(await picture.bytes()))).toBe(url);
});

test('the page names the endpoint and the device, and the relay asks nobody', async () => {
  const service = createOpenService();
  const { url, session } = await begin(service, urlOf(), { device: 'A shell', ack: true });
  const page = await textOf(await service.ask(url));
  expect(page).toContain('accounts.provider.test');
  expect(page).toContain('A shell');
  expect(page).not.toContain('own-client');
  const user = createUser(service);
  await user.decide(url, 'continue');
  await user.open(`/open/callback?${new URL(url).searchParams}&code=c`);
  for (const _ of [1, 2]) {
    expect(await (await poll(service, session)).json()).toMatchObject({ callback: { code: 'c' } });
  }
  expect((await acknowledge(service, session)).status).toBe(204);
  expect((await pollOnce(service, session)).status).toBe(410);
  expect(service.sent).toEqual([]);
});

test('by a code, and a client without a state gets none', async () => {
  const service = createOpenService();
  const { user, callback, session } = await beginAndContinue(service, urlOf(), { code: true });
  await user.open(`${callback}&code=c`);
  expect(await (await poll(service, session)).json()).toMatchObject({ callback: { code: 'c' } });
});

describe('nobody is sent anywhere else', () => {
  const query = urlOf().slice(ENDPOINT.length);

  test.each([
    ['another path', `https://accounts.provider.test/redirect${query}`],
    ['a path that leads back', `https://accounts.provider.test/x/../authorize${query}`],
    ['a path within', `${ENDPOINT}/redirect${query}`],
    ['a longer path', `${ENDPOINT}r${query}`],
    ['an encoded path', `https://accounts.provider.test/%61uthorize${query}`],
    ['an encoded slash', `https://accounts.provider.test/%2Fauthorize${query}`],
    ['another port', `https://accounts.provider.test:8443/authorize${query}`],
    ['the default port', `https://accounts.provider.test:443/authorize${query}`],
    ['http', `http://accounts.provider.test/authorize${query}`],
    ['a user name', `https://accounts.provider.test@evil.test/authorize${query}`],
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
    ['nothing', undefined],
  ])('%s', async (_, authorizationUrl) => {
    const service = createOpenService();
    expect(await refusalOf(service, authorizationUrl)).toEqual([
      400,
      expect.stringMatching(/^Invalid request: authorizationUrl /),
    ]);
  });

  test('with * any https endpoint at a host name or an address, and nothing else', async () => {
    const service = createOpenService({ openEndpoints: '*' });
    for (const host of ['any.test', '192.0.2.1', '[2001:db8::1]:8443', 'xn--bcher-kva.test']) {
      await begin(service, urlOf(ASKED, `https://${host}/oauth/authorize`));
    }
    for (const url of [
      `http://any.test/authorize${query}`,
      `http://127.0.0.1/authorize${query}`,
      `http://localhost:8080/authorize${query}`,
      `https://any.test@evil.test/${query}`,
      `https://any_name.test/authorize${query}`,
      `https://a!b.test/authorize${query}`,
      `https://${'a.'.repeat(130)}test/authorize${query}`,
    ]) {
      expect([url, (await refusalOf(service, url))[0]]).toEqual([url, 400]);
    }
  });
});

test.each([
  ['both', { ...ASKED, response_type: 'code id_token' }],
  ['no client id', { ...ASKED, client_id: '' }],
  ['no challenge', { ...ASKED, code_challenge: '' }],
  ['the method plain', { ...ASKED, code_challenge_method: 'plain' }],
  ['no method', { ...ASKED, code_challenge_method: '' }],
  ['a request object', { ...ASKED, request: 'x' }],
])('%s is refused', async (_, query) => {
  expect((await refusalOf(createOpenService(), urlOf(query)))[0]).toBe(400);
});

describe('what the client wrote', () => {
  // By hand, because URLSearchParams would write it in its own way.
  const base = `${ENDPOINT}?response_type=code&client_id=a~x(1)&scope=a%20b+c&flag&empty=`;
  const proof = `&code_challenge=${CHALLENGE}&code_challenge_method=S256`;
  const own = `&redirect_uri=${encodeURIComponent(`${BASE_URL}/open/callback`)}&state=`;

  test('reaches the provider to the letter, but for redirect_uri and state', async () => {
    const asked = `${base}&%72edirect_uri=https%3A%2F%2Fevil.test&st%61te=x&resource=a&resource=b`;
    const { location, state } = await beginAndContinue(createOpenService(), asked + proof);
    expect(location).toBe(`${base}&resource=a&resource=b${proof}${own}${state}`);
  });

  test.each(['flowEntry=1', 'grant_options[]=a&grant_options%5Bx%5D=b', 'a..b=c', '&'])(
    'may have other names: %s',
    async (more) => {
      const asked = `${base}${proof}&${more}`;
      const { location } = await beginAndContinue(createOpenService(), asked);
      expect(location).toContain(`&${more}&redirect_uri=`);
    },
  );

  test.each([
    'Response_Mode=form_post',
    'response.mode=form_post',
    'response%20mode=form_post',
    'response_mode[]=form_post',
    'response_mode%5Bx=form_post',
    'response[mode=form_post',
    'response%5Bmode=form_post',
    'redirect[uri=https://evil.test',
    '[response_mode]=form_post',
    'response_mode%5D=form_post',
    '%5D[request_uri]=https://evil.test',
    '[redirect_uri]=https://evil.test',
    '+response_mode=form_post',
    'response_mode%00x=form_post',
    'REQUEST=x',
    'request[uri]=x',
    'request-uri=x',
    'REDIRECT_URI=https://evil.test',
    'redirect.uri=https://evil.test',
    'redirect_uri[]=https://evil.test',
    'redirect_uri%3Bx=https://evil.test',
    'a;redirect_uri=https://evil.test',
    'scope=a;b',
    'State=x',
    'state[0]=x',
    'x=%',
    'x=%zz',
    '%ff=x',
    'x=%c0%af',
    'scope=x',
  ])('is refused with %s', async (more) => {
    const [status, text] = await refusalOf(createOpenService(), `${base}${proof}&${more}`);
    expect([status, text]).toEqual([400, expect.stringMatching(/^Invalid request: auth/)]);
  });
});

describe('the callback', () => {
  const bring = async (service: Service, query: string) => {
    const { user, callback, session } = await beginAndContinue(service);
    await user.open(`${callback}&${query}`);
    return (await poll(service, session)).json();
  };

  test('shows the browser of Continue how it ended, if the callback comes again', async () => {
    const service = createOpenService();
    const { user, callback } = await beginAndContinue(service);
    const again = `${callback}&code=c`;
    // Two at once as well: both have found the session pending.
    for (const response of await Promise.all([1, 2, 3].map(() => user.open(again)))) {
      expect(await textOf(response)).toContain('You’re signed in');
    }
    expect((await service.ask(again)).status).toBe(404);
  });

  test('says to return to the device, which the operator’s app is not', async () => {
    const service = createOpenService({ branding: { appName: 'The operator' } });
    const asked = { device: 'A shell', code: true };
    const { user, link, callback } = await beginAndContinue(service, urlOf(), asked);
    const page = await textOf(await user.open(`${callback}&code=c`));
    expect(page).toContain('close this tab and return to A shell.');
    for (const address of [`${callback}&code=c`, link]) {
      const again = await textOf(await user.open(address));
      expect(again).toContain('close this tab and return to the app.');
    }
    for (const address of ['/open?state=x', '/open/callback', `/open?state=${UNKNOWN_SECRET}`]) {
      expect(await textOf(await user.open(address))).toContain('Please start again from the app.');
    }
  });

  test('in a browser without Continue is logged, and the sign-in continues', async () => {
    const service = createOpenService();
    const log = captureLog();
    const { user, callback } = await beginAndContinue(service);
    const other = await service.ask(`${callback}&code=c`);
    expect(await textOf(other)).toContain(
      'or allow cookies and open the link from your device in this one.',
    );
    expect(log.named('callback_without_cookie')).toMatchObject([{ service: 'open' }]);
    expect(await textOf(await user.open(`${callback}&code=c`))).toContain('You’re signed in');
  });

  test('brings the code that the relay has checked, also if there are two', async () => {
    for (const query of ['code=first&code=second', 'c%6fde=first&code=second']) {
      const result = await bring(createOpenService(), query);
      expect(result).toMatchObject({ callback: { code: 'first' } });
    }
  });

  test('of up to 4 KiB is kept for the client, and a longer one ends the sign-in', async () => {
    const room = 4_096 - `state=${'s'.repeat(24)}&code=`.length;
    const code = 'c'.repeat(room);
    expect(await bring(createOpenService(), `code=${code}`)).toMatchObject({ callback: { code } });
    const ended = { error: 'authorization_failed' };
    expect(await bring(createOpenService(), `code=${code}c`)).toEqual(ended);
    expect(await bring(createOpenService(), `code=c&x=${'y'.repeat(10_000)}`)).toEqual(ended);
  });

  test('brings no more parameters than any query', async () => {
    const many = Array.from({ length: 100 }, (_, nth) => `p${nth}=x`).join('&');
    const { callback } = (await bring(createOpenService(), `code=c&${many}`)) as {
      callback: object;
    };
    expect(Object.keys(callback).length).toBeLessThan(64);
  });
});

test('when the store fails, the client gets a text and the user a page', async () => {
  const service = createOpenService({ beforeStore: () => Promise.reject(new Error('down')) });
  expect(await refusalOf(service, urlOf())).toEqual([503, 'Server busy']);
  const page = await service.ask(`/open?state=${UNKNOWN_SECRET}`);
  expect([page.status, await textOf(page)]).toEqual([503, expect.stringContaining('failed')]);
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
  const log = captureLog();
  for (let count = 0; count < 2; count += 1) {
    expect((await ask(small, { authorizationUrl: urlOf() })).status).toBe(503);
  }
  expect(log.named('sessions_full')).toMatchObject([{ level: 'warning' }]);
  const other = await small.ask('/auth/start', { method: 'POST', body: '{"service":"mal"}' });
  expect(other.status).toBe(200);
});

test('the client metadata document names itself, the redirect URI, and no operator', async () => {
  const service = createOpenService({ branding: { appName: 'The operator' } });
  const response = await service.ask('/open/client.json');
  expect(await response.json()).toMatchObject({
    client_id: `${BASE_URL}/open/client.json`,
    client_name: 'A device, by relay.test',
    redirect_uris: [`${BASE_URL}/open/callback`],
    token_endpoint_auth_method: 'none',
  });
});
