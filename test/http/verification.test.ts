/** The verification pages: a code is typed, a short link opened, a decision made (docs/person.md). */
import { describe, expect, test } from 'bun:test';
import { runReady } from '../kit/clock.ts';
import { poll, type Started, start, startWithCode } from '../kit/device.ts';
import {
  BASE_URL,
  createTestService,
  SETTINGS,
  type TestService,
  type Verb,
} from '../kit/service.ts';
import {
  callback,
  decide,
  decision,
  deny,
  FROM_OWN_PAGE,
  stateOf,
  textOf,
  typeCode,
} from '../kit/user.ts';

const WRONG = '/L/BCDF-GHJK';

/** Nothing was decided: the device still waits, and the code still works. */
async function expectUndecided(service: TestService, { session, link }: Started) {
  const parked = poll(service, session);
  await runReady();
  service.clock.advance(50_000);
  expect((await parked).status).toBe(204);
  expect((await service.ask(link)).status).toBe(200);
}

function expectAuthorize(response: Response, status: number, state: string): void {
  expect(response.status).toBe(status);
  expect(response.headers.get('location')).toStartWith('https://mal.test/authorize?');
  expect(stateOf(response)).toBe(state);
}

describe('a code is accepted', () => {
  const toFullWidth = (letter: string) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0);

  test.each([
    ['in full-width letters', (code: string) => code.replaceAll(/[A-Z]/g, toFullWidth)],
    ['with another dash', (code: string) => code.replace('-', '–')],
    ['with blanks and dots', (code: string) => ` ${[...code.toLowerCase()].join('. ')}`],
  ])('%s', async (_, write) => {
    const service = createTestService();
    const { userCode, link } = await startWithCode(service);
    const answer = await typeCode(service, write(userCode));
    expect([answer.status, answer.headers.get('location')]).toEqual([303, link]);
  });

  test.each([
    ['without its dash', (code: string) => `/L/${code.replace('-', '')}`],
    ['in lower case', (code: string) => `/L/${code.toLowerCase()}`],
    ['under /l/', (code: string) => `/l/${code}`],
    ['with a semicolon', (code: string) => `/L/${code.replace('-', ';')}`],
    ['with a comma at its end', (code: string) => `/L/${code},`],
  ])(
    'in a link written %s, which redirects to the one spelling, decides nothing and costs no try',
    async (_, write) => {
      const service = createTestService();
      const started = await startWithCode(service);
      const path = write(started.userCode);
      for (let visits = 0; visits < 30; visits += 1) {
        const opened = await service.ask(path, {}, '203.0.113.1');
        expect([opened.status, opened.headers.get('location')]).toEqual([302, started.link]);
      }
      for (const choice of ['continue', 'decline']) {
        const decided = await decide(service, path, choice);
        expect([decided.status, decided.headers.get('location')]).toEqual([303, started.link]);
        expect(decided.headers.get('set-cookie')).toBeNull();
      }
      await expectUndecided(service, started);
    },
  );

  test('whether or not it exists, as long as nothing is looked up', async () => {
    const { ask } = createTestService();
    expect((await ask('/l/bcdfghjk')).headers.get('location')).toBe(WRONG);
  });
});

describe('the confirmation page', () => {
  test('names the app, the provider and when the device started; opening it changes nothing', async () => {
    const service = createTestService({ branding: { appName: 'Plezy' } });
    const started = await startWithCode(service, { device: 'Living room TV' });
    service.clock.advance(125_000);
    for (let visits = 0; visits < 30; visits += 1) {
      const text = await textOf(await service.ask(started.link));
      const told = ['Plezy', 'MyAnimeList', 'Living room TV', '2 minutes ago', started.userCode];
      for (const fact of told) expect(text).toContain(fact);
    }
    await expectUndecided(service, started);
  });

  test('unknown, used, declined and expired codes look the same', async () => {
    const service = createTestService();
    const links: string[] = [WRONG];
    for (const choice of ['continue', 'decline', 'expire']) {
      const { link } = await startWithCode(service);
      if (choice !== 'expire') await decide(service, link, choice);
      links.push(link);
    }
    service.clock.advance(600_001);
    const pages = links.map(async (link) => {
      const answer = await service.ask(link);
      expect(answer.status).toBe(404);
      return (await answer.text()).replace(link.slice('/L/'.length), 'what was typed');
    });
    expect(new Set(await Promise.all(pages)).size).toBe(1);
  });

  test.each<[string, choice: string, verb: Verb]>([
    ['declines', 'decline', 'fail'],
    ['continues', 'continue', 'getAuthorization'],
  ])(
    'a user who %s just after the sign-in has ended is told that the link is no longer valid',
    async (_, choice, verb) => {
      const race: { end?: () => Promise<unknown> } = {};
      const other = createTestService();
      const service = createTestService(
        {},
        {
          sharing: other,
          beforeVerb: async (called) => {
            if (called === verb) await race.end?.();
          },
        },
      );
      const { link, state } = await startWithCode(service);
      race.end = () => deny(other, state);
      const answer = await decide(service, link, choice);
      expect(answer.status).toBe(404);
      expect(await textOf(answer)).toContain('This sign-in link is no longer valid.');
    },
  );

  test('so is a user whose provider this instance does not have', async () => {
    const service = createTestService();
    const { link } = await startWithCode(service, {}, 'anilist');
    const [mal] = SETTINGS.providers;
    const other = createTestService({ providers: mal ? [mal] : [] }, { sharing: service });
    const answer = await decide(other, link);
    expect(answer.status).toBe(404);
    expect(await textOf(answer)).toContain('This sign-in link is no longer valid.');
  });

  test.each([
    ['Sec-Fetch-Site: cross-site', { 'Sec-Fetch-Site': 'cross-site' }],
    ['Sec-Fetch-Site: same-site', { 'Sec-Fetch-Site': 'same-site' }],
    ['Sec-Fetch-Site: none', { 'Sec-Fetch-Site': 'none' }],
    ['cross-site with our Origin', { 'Sec-Fetch-Site': 'cross-site', Origin: BASE_URL }],
    ['another Origin', { Origin: 'https://evil.test' }],
    ['Origin: null', { Origin: 'null' }],
    ['an Origin that only starts like ours', { Origin: `${BASE_URL}.evil.test` }],
  ] as [string, Record<string, string>][])(
    "another site's form decides nothing: %s",
    async (_, headers) => {
      const service = createTestService();
      const started = await startWithCode(service);
      for (const choice of ['continue', 'decline']) {
        const answer = await service.ask(started.link, decision(choice, headers));
        expect(answer.status).toBe(200);
        expect(await textOf(answer)).toContain('Continue');
      }
      await expectUndecided(service, started);
    },
  );

  test.each([
    ['our Origin without Sec-Fetch-Site, from an older browser', { Origin: BASE_URL }],
    ['neither header, from an even older one', {}],
  ] as [string, Record<string, string>][])('our own form decides: %s', async (_, headers) => {
    const service = createTestService();
    const { state, link } = await startWithCode(service);
    expectAuthorize(await service.ask(link, decision('continue', headers)), 303, state);
  });
});

describe('CONFIRM', () => {
  test('always: after Continue on the long link the user may still decline, once', async () => {
    const service = createTestService({ confirm: 'always' });
    const { url, state, session } = await start(service);
    expectAuthorize(await decide(service, url), 303, state);
    const waiting = poll(service, session);
    expect(await textOf(await decide(service, url, 'decline'))).toContain('Sign-in was cancelled.');
    expect(await (await waiting).json()).toEqual({ error: 'access_denied' });
    expect((await decide(service, url)).status).toBe(404);
  });

  test('never: the code redirects to the provider at once, as often as it is opened', async () => {
    const service = createTestService({ confirm: 'never' });
    const { state, link } = await startWithCode(service);
    for (let visits = 0; visits < 2; visits += 1) {
      expectAuthorize(await service.ask(link), 302, state);
    }
    expect((await callback(service, state)).status).toBe(200);
  });
});

describe('headers of the pages', () => {
  const policyOf = ({ headers }: Response) => headers.get('content-security-policy');

  test('a form sends its Origin, to the relay alone', async () => {
    const service = createTestService();
    const { link } = await startWithCode(service);
    const [form, question, wrong] = await Promise.all(
      ['/link', link, WRONG].map((path) => service.ask(path)),
    );
    for (const page of [form, question, wrong]) {
      expect(page?.headers.get('referrer-policy')).toBe('same-origin');
      expect(page?.headers.get('cache-control')).toBe('no-store, private');
    }
    expect(form && policyOf(form)).toContain("form-action 'self'");
    expect(wrong && policyOf(wrong)).toContain("form-action 'self'");
    // Browsers apply form-action to redirects too, and this form redirects to the provider.
    expect(question && policyOf(question)).not.toContain('form-action');
  });

  test('with CONFIRM=never the code form itself may redirect to the provider', async () => {
    const { ask } = createTestService({ confirm: 'never' });
    expect(policyOf(await ask('/link'))).not.toContain('form-action');
  });

  test('a page without a form allows none, and sends no Referer', async () => {
    const page = await createTestService().ask('/auth/done');
    expect(policyOf(page)).toContain("form-action 'none'");
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
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

  test('every page is in the language of the browser', async () => {
    const { ask } = createTestService();
    const headers = { 'Accept-Language': 'fr-CA, en;q=0.1' };
    for (const path of ['/', '/link', WRONG, '/auth/mal?state=x', '/auth/done']) {
      expect(await (await ask(path, { headers })).text()).toContain('<html lang="fr"');
    }
  });
});

describe('inside another app, whose browser providers refuse, the page says where to open the link', () => {
  const IN_APP: readonly [string, string][] = [
    ['Instagram', 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_2 like Mac OS X) Mobile Instagram 312.0'],
    ['Facebook', 'Mozilla/5.0 (iPhone) Mobile/15E148 [FBAN/FBIOS;FBAV/443.0;FBBV/1]'],
    ['LINE', 'Mozilla/5.0 (iPhone) Mobile/15E148 Safari Line/13.21.0'],
    ['WeChat', 'Mozilla/5.0 (iPhone) Mobile/15E148 MicroMessenger/8.0.44'],
    ['a WebView', 'Mozilla/5.0 (Linux; Android 14; Pixel 8; wv) Version/4.0 Chrome/120.0'],
  ];
  const BROWSERS: readonly [string, string][] = [
    ['Safari', 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_2) Version/17.2 Mobile Safari/604.1'],
    ['Chrome', 'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 Chrome/120.0.0.0 Mobile'],
    ['Firefox', 'Mozilla/5.0 (Windows NT 10.0; rv:121.0) Gecko/20100101 Firefox/121.0'],
  ];
  const ADVICE = 'open inside another app';

  test.each([...IN_APP, ...BROWSERS])('%s', async (name, agent) => {
    const service = createTestService();
    const { link } = await startWithCode(service);
    const text = await textOf(await service.ask(link, { headers: { 'User-Agent': agent } }));
    const isInApp = IN_APP.some(([inApp]) => inApp === name);
    expect(text.includes(ADVICE)).toBe(isInApp);
    expect(text.includes(`${BASE_URL}${link}`)).toBe(isInApp);
  });

  test('with CONFIRM=always the page of the long link does not show that link', async () => {
    const service = createTestService({ confirm: 'always' });
    const { url, state } = await start(service);
    const headers = { ...FROM_OWN_PAGE, 'User-Agent': IN_APP[0]?.[1] ?? '' };
    const page = await (await service.ask(url, { headers })).text();
    expect(page).toContain(ADVICE);
    expect(page).not.toContain(state);
  });
});
