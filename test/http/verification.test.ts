/** The verification pages: a code is typed, a short link opened, a decision made (docs/user-pages.md). */
import { describe, expect, test } from 'bun:test';
import { poll, start, startWithCode } from '../kit/device.ts';
import {
  type Asked,
  BASE_URL,
  createTestService,
  MAL,
  StoreUnavailable,
  type TestServiceOptions,
} from '../kit/service.ts';
import { createUser, decide, FROM_OWN_PAGE, stateOf, textOf } from '../kit/user.ts';

const WRONG = '/L/BCDF-GHJK';

function expectAuthorize(response: Response, status: number, state: string): void {
  expect(response.status).toBe(status);
  expect(response.headers.get('location')).toStartWith('https://mal.test/authorize?');
  expect(stateOf(response)).toBe(state);
}

describe('the confirmation page', () => {
  test('says when the device started', async () => {
    const service = createTestService();
    const { link } = await startWithCode(service);
    service.clock.advance(125_000);
    expect(await textOf(await service.ask(link))).toContain('2 minutes ago');
  });

  test('has no id and no focus: no URL can select a button for a key (CVE-2024-7404)', async () => {
    const service = createTestService();
    const { link } = await startWithCode(service);
    const page = await (await service.ask(link)).text();
    expect(page).toContain('<button');
    expect(page).not.toMatch(/<[^>]* (?:id|autofocus|accesskey|tabindex)\b/);
  });

  test('unknown and expired codes look the same', async () => {
    const service = createTestService();
    const { link } = await startWithCode(service);
    service.clock.advance(600_001);
    const [unknown, expired] = await Promise.all(
      [WRONG, link].map(async (path) => {
        const answer = await service.ask(path);
        expect(answer.status).toBe(404);
        return (await answer.text()).replace(path.slice('/L/'.length), 'what was typed');
      }),
    );
    expect(expired).toBe(unknown ?? '');
  });

  test('a user of a provider that this instance lacks sees that the link is not valid', async () => {
    const service = createTestService();
    const { link } = await startWithCode(service, {}, 'anilist');
    const other = createTestService({ providers: [MAL], sharing: service });
    const answer = await decide(other, link);
    expect(answer.status).toBe(404);
    expect(await textOf(answer)).toContain('This sign-in link is no longer valid.');
  });
});

const CANCELLED = 'Sign-in cancelled';
const FAILED = 'Sign-in failed. Please try again.';
const IN_PROGRESS = 'The sign-in is being completed.';

/** By the code, and by the long link where it asks too. */
describe.each([
  ['code', 'link'],
  ['always', 'url'],
] as const)('CONFIRM=%s, at the %s, a decision may be repeated:', (confirm, way) => {
  async function open(options: TestServiceOptions = {}) {
    const service = createTestService({ confirm, ...options });
    const { [way]: address, ...started } = await startWithCode(service);
    return { service, user: createUser(service), address, ...started };
  }
  type Opened = Awaited<ReturnType<typeof open>>;

  /** The page is opened again, and both buttons are pressed again. */
  async function expectAll({ user, address }: Opened, said: string) {
    const answers = [
      await user.open(address),
      await user.decide(address, 'continue'),
      await user.decide(address, 'decline'),
    ];
    for (const answer of answers) {
      expect(answer.status).toBe(200);
      expect(await textOf(answer)).toContain(said);
    }
  }

  test('during the exchange the page says so, and then how it ended', async () => {
    const opened = await open({ fetch: async () => new Response('no tokens', { status: 500 }) });
    const { service, user, address, state } = opened;
    await user.decide(address, 'continue');
    const held = service.gate.close();
    const callingBack = user.comeBack(state);
    await held.arrived;
    await expectAll(opened, IN_PROGRESS);
    // A second callback too, if it is known to come from the same browser.
    const again = confirm === 'always' ? IN_PROGRESS : 'no longer valid';
    expect(await textOf(await user.comeBack(state))).toContain(again);
    held.release();
    expect((await callingBack).status).toBe(502);
    await expectAll(opened, FAILED);
  });

  test.each<[string, choice: string, verb: Asked]>([
    ['declines', 'decline', 'fail'],
    ['continues', 'continue', 'open'],
  ])(
    'a user who %s just after another tab has ended the sign-in sees how it ended',
    async (_, choice, verb) => {
      const race: { end?: () => Promise<unknown> } = {};
      const { service, user, address } = await open({
        beforeStore: async (called) => {
          const { end } = race;
          if (called !== verb || end === undefined) return;
          delete race.end;
          await end();
        },
      });
      race.end = () => decide(service, address, 'decline');
      const answer = await user.decide(address, choice);
      expect([answer.status, await textOf(answer)]).toEqual([
        200,
        expect.stringContaining(CANCELLED),
      ]);
    },
  );

  test.each(['find', 'open', 'fail'] as const)(
    'a 503 at "%s" does not end the sign-in: the same button continues',
    async (verb) => {
      let isAway = false;
      const { service, user, address, state, session } = await open({
        beforeStore(called) {
          if (isAway && called === verb) throw new StoreUnavailable();
        },
      });
      const choice = verb === 'fail' ? 'decline' : 'continue';
      isAway = true;
      const answer = await user.decide(address, choice);
      expect(answer.status).toBe(503);
      expect(await textOf(answer)).toContain('Reload this page');
      isAway = false;
      const second = await user.decide(address, choice);
      if (choice === 'decline') {
        expect(await textOf(second)).toContain(CANCELLED);
        expect(await (await poll(service, session)).json()).toEqual({ error: 'access_denied' });
      } else {
        expectAuthorize(second, 303, state);
        expect((await user.comeBack(state)).status).toBe(200);
      }
    },
  );
});

describe('headers of the pages', () => {
  const SEALED_OFF = ["default-src 'none'", "img-src 'self'", "frame-ancestors 'none'"];
  const policyOf = ({ headers }: Response) => headers.get('content-security-policy');

  test.each([
    ['/link', 'same-origin', "'self'"],
    [WRONG, 'same-origin', "'self'"],
    // Browsers apply form-action to redirects too, and this form redirects to the provider.
    ['the question', 'same-origin', undefined],
    ['/auth/done', 'no-referrer', "'none'"],
    // Its URL has a state.
    ['/auth/mal?state=of-no-session', 'no-referrer', "'self'"],
  ])('%s: Referrer-Policy %s, form-action %p', async (path, referrer, formAction) => {
    const service = createTestService();
    const { link } = await startWithCode(service);
    const page = await service.ask(path === 'the question' ? link : path);
    expect(page.headers.get('referrer-policy')).toBe(referrer);
    expect(/form-action ([^;]+)/.exec(policyOf(page) ?? '')?.[1]).toBe(formAction);
  });

  test('RFC 9700 §4.16: no page may be in a frame, or loads anything of another site', async () => {
    const service = createTestService({ confirm: 'always' });
    const { url, link, state } = await startWithCode(service);
    const ended = `/auth/mal/callback?state=${state}`;
    const invalid = [WRONG, '/auth/mal?state=x', '/nowhere'];
    for (const path of ['/', '/link', link, url, '/auth/done', ended, ...invalid]) {
      const page = await service.ask(path);
      const policy = policyOf(page)?.split('; ');
      expect([path, policy]).toEqual([path, expect.arrayContaining(SEALED_OFF)]);
      expect([path, page.headers.get('x-frame-options')]).toEqual([path, 'DENY']);
    }
  });

  test('an old link has the form for a code, which needs no Origin', async () => {
    const service = createTestService();
    const { userCode, link } = await startWithCode(service);
    const page = await service.ask('/auth/mal?state=of-no-session');
    expect(page.status).toBe(404);
    expect(await page.text()).toContain('<form method="post" action="/link">');
    // With `no-referrer` a browser sends no Origin either.
    const typed = await service.ask('/link', {
      method: 'POST',
      headers: { Origin: 'null' },
      body: new URLSearchParams({ code: userCode }),
    });
    expect([typed.status, typed.headers.get('location')]).toEqual([303, link]);
  });

  test('other methods are 405', async () => {
    const service = createTestService();
    const { link } = await startWithCode(service);
    for (const [path, allow] of [
      ['/', 'GET, HEAD'],
      ['/link', 'GET, HEAD, POST'],
      [link, 'GET, POST'],
    ] as const) {
      const answer = await service.ask(path, { method: 'DELETE' });
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow]);
    }
    expect((await service.ask(link, { method: 'HEAD' })).status).toBe(405);
    expect((await service.ask('/', { method: 'HEAD' })).status).toBe(200);
  });
});

describe('inside another app, which providers refuse, the page says where to open the link', () => {
  const FACEBOOK = 'Mozilla/5.0 (iPhone) Mobile/15E148 [FBAN/FBIOS;FBAV/443.0;FBBV/1]';
  const WEBVIEW = 'Mozilla/5.0 (Linux; Android 14; Pixel 8; wv) Version/4.0 Chrome/120.0';
  const IPHONE =
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)';
  const CHROME = 'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 Chrome/120.0.0.0 Mobile';
  const ADVICE = 'open inside another app';

  test.each([
    ['Facebook', FACEBOOK, true],
    ['a WebView', WEBVIEW, true],
    ['KakaoTalk on an iPhone', `${IPHONE} Mobile/15E148 KAKAOTALK 25.4.2`, true],
    ['Chrome', CHROME, false],
    ['Chrome on an iPhone', `${IPHONE} CriOS/137.0 Mobile/15E148 Safari/604.1`, false],
  ])('%s', async (_, agent, isInApp) => {
    const service = createTestService();
    const { link } = await startWithCode(service);
    const text = await textOf(await service.ask(link, { headers: { 'User-Agent': agent } }));
    expect(text.includes(ADVICE)).toBe(isInApp);
    expect(text.includes(`${BASE_URL}${link}`)).toBe(isInApp);
  });

  test('with CONFIRM=always the page of the long link does not show that link', async () => {
    const service = createTestService({ confirm: 'always' });
    const { url, state } = await start(service);
    const headers = { ...FROM_OWN_PAGE, 'User-Agent': WEBVIEW };
    const page = await (await service.ask(url, { headers })).text();
    expect(page).toContain(ADVICE);
    expect(page).not.toContain(state);
  });
});
