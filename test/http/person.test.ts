/** The person's door: a code typed, a link opened, a decision made. docs/person.md. */
import { describe, expect, test } from 'bun:test';
import type { Found, SessionStore } from '../../src/relay/store.ts';
import { BASE_URL, createTestService } from '../support/test-service.ts';

type TestService = ReturnType<typeof createTestService>;

const FROM_OUR_PAGE = { 'Sec-Fetch-Site': 'same-origin' };

/** A session whose device asked for a code: its poll secret, its code, and the path of its link. */
async function startWithCode({ send }: TestService, service = 'mal', device = 'Living room TV') {
  clients += 1;
  const body = JSON.stringify({ service, code: true, device });
  const peer = `198.51.100.${clients}`;
  const answer = await send('/auth/start', { method: 'POST', body }, peer);
  const { session, url, userCode, link } = (await answer.json()) as Record<string, string>;
  const { pathname } = new URL(link ?? '');
  const state = new URL(url ?? '').searchParams.get('state') ?? '';
  return { session: session ?? '', state, url: url ?? '', userCode: userCode ?? '', pathname };
}

let clients = 0;

const ELSEWHERE: Found = { service: 'elsewhere', browserState: 'x', startedAtMs: 0 };

function decide(
  { send }: TestService,
  path: string,
  choice: string,
  headers: Record<string, string> = FROM_OUR_PAGE,
) {
  return send(path, { method: 'POST', headers, body: new URLSearchParams({ choice }) });
}

/** What the person is told: the text of the page. */
async function textOf(response: Response): Promise<string> {
  const page = await response.text();
  return page.replace(/<head>.*<\/head>/s, '').replaceAll(/<[^>]+>/g, ' ');
}

function expectAuthorize(response: Response, status: number, state: string): void {
  expect(response.status).toBe(status);
  const location = response.headers.get('location') ?? '';
  expect(location).toStartWith('https://mal.test/authorize?');
  expect(new URL(location).searchParams.get('state')).toBe(state);
}

/** Nothing was decided: the device still waits, and the code is still good. */
async function expectUndecided(service: TestService, session: string, pathname: string) {
  const parked = service.poll(session);
  await service.runReady();
  service.clock.advance(50_000);
  expect((await parked).status).toBe(204);
  expect((await service.send(pathname)).status).toBe(200);
}

describe('a code that is typed', () => {
  test.each([
    ['as it is shown', (code: string) => code],
    [
      'in lower case, with blanks and dots',
      (code: string) => ` ${[...code.toLowerCase()].join('. ')}`,
    ],
    ['without its dash', (code: string) => code.replace('-', '')],
    ['with another dash', (code: string) => code.replace('-', '–')],
    ['in full-width letters', (code: string) => code.replaceAll(/[A-Z]/g, toFullWidth)],
  ])('%s leads to its address', async (_, write) => {
    const service = createTestService();
    const { userCode, pathname } = await startWithCode(service);
    const body = new URLSearchParams({ code: write(userCode) });
    const answer = await service.send('/link', { method: 'POST', body });
    expect(answer.status).toBe(303);
    expect(answer.headers.get('location')).toBe(pathname);
  });

  test.each(['', 'BCDF-GHJ', 'BCDF-GHJK-L', 'BCDF-GHJ1', 'AEIO-UAEI', 'код'])(
    '"%s" is none: the form again, with what was written and why',
    async (code) => {
      const { send } = createTestService();
      const body = new URLSearchParams({ code });
      const answer = await send('/link', { method: 'POST', body });
      expect(answer.status).toBe(400);
      const page = await answer.text();
      expect(page).toContain('role="alert"');
      expect(page).toContain(`value="${code}"`);
    },
  );

  test('what is written comes back as text, whatever it is', async () => {
    const { send } = createTestService();
    const body = new URLSearchParams({ code: '"><script>x' });
    const page = await (await send('/link', { method: 'POST', body })).text();
    expect(page).toContain('value="&quot;&gt;&lt;script&gt;x"');
    expect(page).not.toContain('<script');
  });
});

function toFullWidth(letter: string): string {
  return String.fromCharCode(letter.charCodeAt(0) + 0xfee0);
}

describe('the address of a code', () => {
  test('GET tells who asks, and changes nothing however often', async () => {
    const service = createTestService({ appName: 'Plezy' });
    const { session, userCode, pathname } = await startWithCode(service);
    service.clock.advance(125_000);
    for (let visits = 0; visits < 30; visits += 1) {
      const answer = await service.send(pathname);
      expect(answer.status).toBe(200);
      const text = await textOf(answer);
      const told = ['Plezy', 'MyAnimeList', 'Living room TV', '2 minutes ago', userCode];
      for (const fact of told) expect(text).toContain(fact);
    }
    await expectUndecided(service, session, pathname);
  });

  const OTHERWISE: readonly [string, (code: string) => string][] = [
    ['without its dash', (code) => `/L/${code.replace('-', '')}`],
    ['in lower case', (code) => `/L/${code.toLowerCase()}`],
    ['under /l/', (code) => `/l/${code}`],
    ['with a semicolon', (code) => `/L/${code.replace('-', ';')}`],
    ['with a comma at its end', (code) => `/L/${code},`],
  ];

  test.each(OTHERWISE)(
    'written %s it leads to the one address, decides nothing and costs no try',
    async (_, write) => {
      const service = createTestService();
      const { session, userCode, pathname } = await startWithCode(service);
      const path = write(userCode);
      for (let visits = 0; visits < 30; visits += 1) {
        const opened = await service.send(path);
        expect([opened.status, opened.headers.get('location')]).toEqual([302, pathname]);
      }
      for (const choice of ['continue', 'decline']) {
        const decided = await decide(service, path, choice);
        expect([decided.status, decided.headers.get('location')]).toEqual([303, pathname]);
        expect(decided.headers.get('set-cookie')).toBeNull();
      }
      await expectUndecided(service, session, pathname);
    },
  );

  test('what was never a code leads on as one that was: nothing is looked up', async () => {
    const { send } = createTestService();
    expect((await send('/l/bcdfghjk')).headers.get('location')).toBe('/L/BCDF-GHJK');
  });

  test('Continue leads to the provider, once', async () => {
    const service = createTestService();
    const { state, pathname } = await startWithCode(service);
    const [first, ...others] = await Promise.all(
      Array.from({ length: 5 }, () => decide(service, pathname, 'continue')),
    );
    if (first) expectAuthorize(first, 303, state);
    expect(others.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
    expect((await service.send(pathname)).status).toBe(404);
    expect((await service.callback(state)).status).toBe(200);
  });

  test('Decline tells the device that waits, at once, and uses the code up', async () => {
    const service = createTestService();
    const { session, state, pathname } = await startWithCode(service);
    const waiting = service.poll(session);
    const answer = await decide(service, pathname, 'decline');
    expect(answer.status).toBe(200);
    expect(await textOf(answer)).toContain('Sign-in declined');
    expect(await (await waiting).json()).toEqual({ error: 'access_denied' });
    expect((await service.send(pathname)).status).toBe(404);
    expect((await service.callback(state)).status).toBe(404);
  });

  test('unknown, used, declined and expired look the same', async () => {
    const service = createTestService();
    const used = await startWithCode(service);
    await decide(service, used.pathname, 'continue');
    const declined = await startWithCode(service);
    await decide(service, declined.pathname, 'decline');
    const expired = await startWithCode(service);
    service.clock.advance(600_001);
    const paths = [used.pathname, declined.pathname, expired.pathname, '/L/BCDF-GHJK'];
    const pages = paths.map(async (path) => {
      const answer = await service.send(path);
      expect(answer.status).toBe(404);
      const code = path.slice('/L/'.length);
      return (await answer.text()).replace(code, 'what was written');
    });
    expect(new Set(await Promise.all(pages)).size).toBe(1);
  });

  test('a session that is over has no code, however it ended', async () => {
    const service = createTestService();
    const { state, pathname } = await startWithCode(service);
    await service.callback(state);
    expect((await service.send(pathname)).status).toBe(404);
    expect((await decide(service, pathname, 'continue')).status).toBe(404);
  });

  test.each([
    ['declined', 'decline', { fail: async () => false }],
    ['continued', 'continue', { open: async () => undefined }],
    ['of a provider that this relay does not have', 'continue', { useCode: async () => ELSEWHERE }],
  ])(
    '%s when the session is over a moment before: its link is no longer valid',
    async (_, choice, verbs) => {
      const changeStore = (store: SessionStore) => ({ ...store, ...verbs });
      const service = createTestService({}, undefined, { changeStore });
      const { pathname } = await startWithCode(service);
      const answer = await decide(service, pathname, choice);
      expect(answer.status).toBe(404);
      expect(await textOf(answer)).toContain('This sign-in link is no longer valid.');
    },
  );

  test.each([
    ['no answer', ''],
    ['another answer', 'perhaps'],
  ])('%s decides nothing: the question again', async (_, choice) => {
    const service = createTestService();
    const { session, pathname } = await startWithCode(service);
    const answer = await decide(service, pathname, choice);
    expect(answer.status).toBe(200);
    expect(await textOf(answer)).toContain('Continue');
    await expectUndecided(service, session, pathname);
  });
});

describe("another site's form", () => {
  test.each([
    ['Sec-Fetch-Site: cross-site', { 'Sec-Fetch-Site': 'cross-site' }],
    ['Sec-Fetch-Site: same-site', { 'Sec-Fetch-Site': 'same-site' }],
    ['Sec-Fetch-Site: none', { 'Sec-Fetch-Site': 'none' }],
    ['cross-site, whatever Origin says', { 'Sec-Fetch-Site': 'cross-site', Origin: BASE_URL }],
    ['another Origin', { Origin: 'https://evil.test' }],
    ['Origin: null', { Origin: 'null' }],
    ['an Origin that only begins like ours', { Origin: `${BASE_URL}.evil.test` }],
  ])('%s decides nothing', async (_, headers) => {
    const service = createTestService();
    const { session, pathname } = await startWithCode(service);
    for (const choice of ['continue', 'decline']) {
      const answer = await decide(service, pathname, choice, headers as Record<string, string>);
      expect(answer.status).toBe(200);
      expect(await textOf(answer)).toContain('Continue');
    }
    await expectUndecided(service, session, pathname);
  });

  test.each([
    ['our Origin, from a browser without Sec-Fetch-Site', { Origin: BASE_URL }],
    ['neither, from one that is older still', {}],
  ])('%s is ours', async (_, headers) => {
    const service = createTestService();
    const { state, pathname } = await startWithCode(service);
    const answer = await decide(service, pathname, 'continue', headers as Record<string, string>);
    expectAuthorize(answer, 303, state);
  });
});

describe('CONFIRM', () => {
  test('code: the long link leads on at once, as protocol.md §4 says', async () => {
    const service = createTestService({ confirm: 'code' });
    const { url, state } = await startWithCode(service);
    expectAuthorize(await service.send(url), 302, state);
  });

  test('always: the long link asks too, and its page does not hold its secret', async () => {
    const service = createTestService({ confirm: 'always' });
    const { url, state, session } = await service.start();
    const question = await service.send(url);
    expect(question.status).toBe(200);
    const page = await question.text();
    expect(page).toContain('MyAnimeList');
    expect(page).not.toContain(state);
    const other = await decide(service, url, 'continue', { Origin: 'https://evil.test' });
    expect(other.status).toBe(200);
    expectAuthorize(await decide(service, url, 'continue'), 303, state);
    // Unlike a code: who goes back in the browser may decide anew.
    const waiting = service.poll(session);
    expect(await textOf(await decide(service, url, 'decline'))).toContain('Sign-in declined');
    expect(await (await waiting).json()).toEqual({ error: 'access_denied' });
    expect((await decide(service, url, 'continue')).status).toBe(404);
  });

  test('always: unknown links and services are what they are otherwise', async () => {
    const { send, start } = createTestService({ confirm: 'always' });
    const { state } = await start();
    expect((await send(`/auth/mal?state=nobody-s`)).status).toBe(404);
    expect((await send(`/auth/anilist?state=${state}`)).status).toBe(404);
    expect(await (await send(`/auth/nobody?state=${state}`)).text()).toBe('404 page not found\n');
    const put = await send(`/auth/mal?state=${state}`, { method: 'PUT' });
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, POST']);
  });

  test('always: who was asked at the code is not asked again', async () => {
    const service = createTestService({ confirm: 'always' });
    const { state, pathname } = await startWithCode(service);
    expectAuthorize(await decide(service, pathname, 'continue'), 303, state);
  });

  test('never: the code leads on at once, as often as it is opened', async () => {
    const service = createTestService({ confirm: 'never' });
    const { state, pathname } = await startWithCode(service);
    expectAuthorize(await service.send(pathname), 302, state);
    expectAuthorize(await service.send(pathname), 302, state);
  });
});

describe('what the answers say to browsers', () => {
  const policyOf = ({ headers }: Response) => headers.get('content-security-policy');

  test('a form sends its Origin, and only where it must go', async () => {
    const service = createTestService();
    const { pathname } = await startWithCode(service);
    const [form, question, wrong] = await Promise.all(
      ['/link', pathname, '/L/BCDF-GHJK'].map((path) => service.send(path)),
    );
    for (const page of [form, question, wrong]) {
      expect(page?.headers.get('referrer-policy')).toBe('same-origin');
      expect(page?.headers.get('cache-control')).toBe('no-store, private');
    }
    expect(form && policyOf(form)).toContain("form-action 'self'");
    expect(wrong && policyOf(wrong)).toContain("form-action 'self'");
    // Browsers hold the redirects to it as well, and those lead to the provider.
    expect(question && policyOf(question)).not.toContain('form-action');
  });

  test('never: the form itself leads to the provider', async () => {
    const { send } = createTestService({ confirm: 'never' });
    expect(policyOf(await send('/link'))).not.toContain('form-action');
  });

  test('pages that ask nothing have nowhere to send it', async () => {
    const page = await createTestService().send('/auth/done');
    expect(policyOf(page)).toContain("form-action 'none'");
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
  });

  test('methods that are not for pages are refused', async () => {
    const service = createTestService();
    const { pathname } = await startWithCode(service);
    for (const [path, allow] of [
      ['/', 'GET, HEAD'],
      ['/link', 'GET, HEAD, POST'],
      [pathname, 'GET, POST'],
    ] as const) {
      const answer = await service.send(path, { method: 'DELETE' });
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow]);
    }
    expect((await service.send(pathname, { method: 'HEAD' })).status).toBe(405);
    expect((await service.send('/', { method: 'HEAD' })).status).toBe(200);
  });

  test('the language is that of the browser, for every page', async () => {
    const { send } = createTestService();
    const headers = { 'Accept-Language': 'fr-CA, en;q=0.1' };
    for (const path of ['/', '/link', '/L/BCDF-GHJK', '/auth/mal?state=x', '/auth/done']) {
      expect(await (await send(path, { headers })).text()).toContain('<html lang="fr"');
    }
  });

  test.each(['/relay', '/L'])(
    'under the path %s too, removed by the proxy or not',
    async (basePath) => {
      const service = createTestService({ baseUrl: `https://home.test${basePath}` });
      const { send } = service;
      const body = JSON.stringify({ service: 'mal', code: true });
      const started = await send(
        `${basePath}/auth/start`,
        { method: 'POST', body },
        '198.51.100.250',
      );
      const { userCode } = (await started.json()) as { userCode: string };
      for (const prefix of [basePath, '']) {
        expect((await send(`${prefix}/`)).status).toBe(200);
        expect(await (await send(`${prefix}/link`)).text()).toContain(`action="${basePath}/link"`);
        const code = new URLSearchParams({ code: userCode });
        const typed = await send(`${prefix}/link`, { method: 'POST', body: code });
        expect(typed.headers.get('location')).toBe(`${basePath}/L/${userCode}`);
        expect((await send(`${prefix}/L/${userCode}`)).status).toBe(200);
        const otherwise = await send(`${prefix}/l/${userCode}`);
        expect(otherwise.headers.get('location')).toBe(`${basePath}/L/${userCode}`);
      }
    },
  );
});

describe('a browser that is a part of another app', () => {
  const AGENTS = {
    Instagram:
      'Mozilla/5.0 (iPhone; CPU iPhone OS 17_2 like Mac OS X) Mobile/15E148 Instagram 312.0',
    Facebook: 'Mozilla/5.0 (iPhone) Mobile/15E148 [FBAN/FBIOS;FBAV/443.0;FBBV/1]',
    LINE: 'Mozilla/5.0 (iPhone) Mobile/15E148 Safari Line/13.21.0',
    WeChat: 'Mozilla/5.0 (iPhone) Mobile/15E148 MicroMessenger/8.0.44',
    'a WebView of Android': 'Mozilla/5.0 (Linux; Android 14; Pixel 8; wv) Version/4.0 Chrome/120.0',
  };
  const ADVICE = 'open inside another app';

  test.each(Object.entries(AGENTS))('%s: the question says where to open it', async (_, agent) => {
    const service = createTestService();
    const { pathname } = await startWithCode(service);
    const text = await textOf(await service.send(pathname, { headers: { 'User-Agent': agent } }));
    expect(text).toContain(ADVICE);
    expect(text).toContain(`${BASE_URL}${pathname}`);
  });

  test.each([
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_2 like Mac OS X) Version/17.2 Mobile/15E148 Safari/604.1',
    'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 Chrome/120.0.0.0 Mobile Safari/537.36',
    'Mozilla/5.0 (Windows NT 10.0; rv:121.0) Gecko/20100101 Firefox/121.0',
  ])('a browser of its own is given no such advice: %s', async (agent) => {
    const service = createTestService();
    const { pathname } = await startWithCode(service);
    const text = await textOf(await service.send(pathname, { headers: { 'User-Agent': agent } }));
    expect(text).not.toContain(ADVICE);
  });

  test('always: the long link is not written on the page even then', async () => {
    const service = createTestService({ confirm: 'always' });
    const { url, state } = await service.start();
    const headers = { 'User-Agent': AGENTS.Instagram };
    const page = await (await service.send(url, { headers })).text();
    expect(page).toContain(ADVICE);
    expect(page).not.toContain(state);
  });
});
