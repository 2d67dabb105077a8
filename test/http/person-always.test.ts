/** CONFIRM=always: only the browser that was asked finishes a sign-in. RFC 9700 §4.7.1. */
import { describe, expect, test } from 'bun:test';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createTestService, SETTINGS } from '../support/test-service.ts';

type TestService = ReturnType<typeof createTestService>;

const FROM_OUR_PAGE = { 'Sec-Fetch-Site': 'same-origin' };
const CALLBACKS = ['code=c', 'error=access_denied', 'error=server_error', ''];

/** The cookies of an answer, each with what it says of itself. */
function cookiesOf({ headers }: Response) {
  return headers.getSetCookie().map((line) => {
    const [pair = '', ...attributes] = line.split('; ');
    const path = attributes.find((each) => each.startsWith('Path='))?.slice('Path='.length);
    return { pair, path, attributes: attributes.sort() };
  });
}

/** As a browser does: the cookies of this path alone. */
function cookieFor(path: string, ...answers: Response[]): Record<string, string> {
  const cookies = answers.flatMap(cookiesOf).filter((cookie) => cookie.path === path);
  return { Cookie: cookies.map(({ pair }) => pair).join('; ') };
}

function pressContinue({ send }: TestService, address: string): Promise<Response> {
  const body = new URLSearchParams({ choice: 'continue' });
  return send(address, { method: 'POST', headers: FROM_OUR_PAGE, body });
}

function comeBack({ send }: TestService, state: string, query: string, headers = {}) {
  return send(`/auth/mal/callback?state=${state}&${query}`, { headers });
}

async function expectLinkInvalid(answer: Response): Promise<void> {
  expect(answer.status).toBe(404);
  expect(await answer.text()).toContain('This sign-in link is no longer valid.');
}

/** A session whose device asked for a code, too. */
async function startWithCode({ send }: TestService) {
  const body = JSON.stringify({ service: 'mal', code: true });
  const answer = await send('/auth/start', { method: 'POST', body }, '198.51.100.7');
  const { url = '', link = '', session = '' } = (await answer.json()) as Record<string, string>;
  const state = new URL(url).searchParams.get('state') ?? '';
  return { state, url, link: new URL(link).pathname, session };
}

const CALLBACK = '/auth/mal/callback';

describe('in the browser that continued', () => {
  test.each(['url', 'link'] as const)('the sign-in ends as ever: %s', async (way) => {
    const service = createTestService({ confirm: 'always' });
    const started = await startWithCode(service);
    const headers = cookieFor(CALLBACK, await pressContinue(service, started[way]));
    expect((await comeBack(service, started.state, 'code=c', headers)).status).toBe(200);
    expect(await (await service.poll(started.session)).json()).toMatchObject({
      accessToken: 'granted',
    });
  });

  test('several sign-ins at once: each cookie is for its own', async () => {
    const service = createTestService({ confirm: 'always' });
    const [first, second, third] = [
      await service.start(),
      await service.start(),
      await service.start(),
    ];
    const headers = cookieFor(
      CALLBACK,
      await pressContinue(service, first.url),
      await pressContinue(service, second.url),
    );
    await expectLinkInvalid(await comeBack(service, third.state, 'code=c', headers));
    expect((await comeBack(service, second.state, 'code=c', headers)).status).toBe(200);
    expect((await comeBack(service, first.state, 'code=c', headers)).status).toBe(200);
  });

  test('any instance knows it', async () => {
    const store = createMemoryStore(SETTINGS);
    const [one, other] = [0, 1].map(() => {
      const parts = { changeStore: () => store };
      return createTestService({ confirm: 'always' }, undefined, parts);
    }) as [TestService, TestService];
    const { url, state } = await one.start();
    const headers = cookieFor(CALLBACK, await pressContinue(one, url));
    expect((await comeBack(other, state, 'code=c', headers)).status).toBe(200);
  });
});

describe('in any other browser', () => {
  test.each(CALLBACKS)(
    'a callback with "%s" is the 404 page: nothing is exchanged, nothing ends',
    async (query) => {
      const service = createTestService({ confirm: 'always' });
      const { url, state } = await service.start();
      const headers = cookieFor(CALLBACK, await pressContinue(service, url));
      await expectLinkInvalid(await comeBack(service, state, query));
      expect(service.exchanges).toEqual([]);
      expect((await comeBack(service, state, 'code=c', headers)).status).toBe(200);
    },
  );

  test('before anybody was asked, too', async () => {
    const service = createTestService({ confirm: 'always' });
    const { url, state } = await service.start();
    await service.send(url);
    await expectLinkInvalid(await comeBack(service, state, 'code=c'));
    expect(service.exchanges).toEqual([]);
  });

  test.each([
    ['with the browser state', (state: string) => `__Secure-continued-${state}=1`],
    ['of another scheme', (_: string, pair: string) => pair.replace('__Secure-', '')],
    ['without its value', (_: string, pair: string) => `${pair.split('=')[0]}=`],
  ])('a cookie %s is none', async (_, write) => {
    const service = createTestService({ confirm: 'always' });
    const { url, state } = await service.start();
    const [cookie] = cookiesOf(await pressContinue(service, url));
    const headers = { Cookie: write(state, cookie?.pair ?? '') };
    await expectLinkInvalid(await comeBack(service, state, 'code=c', headers));
  });
});

describe('the cookie', () => {
  test.each(['', '/relay', '/auth'])(
    'is for the callback alone, and holds nothing of the sign-in: base path "%s"',
    async (basePath) => {
      const baseUrl = `https://relay.test${basePath}`;
      const service = createTestService({ confirm: 'always', baseUrl });
      const { url, state, session } = await service.start('mal', basePath);
      const [cookie, ...others] = cookiesOf(await pressContinue(service, url));
      expect(others).toEqual([]);
      expect(cookie?.attributes).toEqual(
        ['HttpOnly', 'Max-Age=600', `Path=${basePath}${CALLBACK}`, 'SameSite=Lax', 'Secure'].sort(),
      );
      expect(cookie?.pair).toMatch(/^__Secure-continued-[\w-]{43}=1$/);
      for (const secret of [state, session]) expect(cookie?.pair).not.toContain(secret);
    },
  );

  test('over plain http, as on localhost, it is neither Secure nor named so', async () => {
    const service = createTestService({ confirm: 'always', baseUrl: 'http://localhost:8080' });
    const { url } = await service.start();
    const [cookie] = cookiesOf(await pressContinue(service, url));
    expect(cookie?.pair).toStartWith('continued-');
    expect(cookie?.attributes).not.toContain('Secure');
  });

  test('is left by Continue alone: not by the question, not by Decline', async () => {
    const service = createTestService({ confirm: 'always' });
    const { url } = await service.start();
    expect(cookiesOf(await service.send(url))).toEqual([]);
    const body = new URLSearchParams({ choice: 'decline' });
    const declined = await service.send(url, { method: 'POST', headers: FROM_OUR_PAGE, body });
    expect(cookiesOf(declined)).toEqual([]);
  });
});

test.each(['code', 'never'] as const)(
  'CONFIRM=%s: any browser may finish, as the protocol has it, and no cookie is left for it',
  async (confirm) => {
    const service = createTestService({ confirm });
    const { state, link } = await startWithCode(service);
    const paths = cookiesOf(await pressContinue(service, link)).map(({ path }) => path);
    expect(paths).toEqual([link]);
    expect((await comeBack(service, state, 'code=c')).status).toBe(200);
  },
);
