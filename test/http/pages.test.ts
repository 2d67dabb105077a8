/** What the pages say about a sign-in, what an operator puts on them, and where a mistyped address redirects to. docs/user-pages.md. */
import { describe, expect, test } from 'bun:test';
import { start, startWithCode } from '../kit/device.ts';
import { BRANDED, createPagesFor } from '../kit/pages.ts';
import { createTestService } from '../kit/service.ts';
import { callback, sentencesOf, textOf } from '../kit/user.ts';

test('in a sentence a name is apart from the text around it, which it could reorder', async () => {
  const appName = 'نجمة';
  const service = createTestService({ branding: { ...BRANDED, appName } });
  const { link } = await startWithCode(service);
  const page = await (await service.ask(link)).text();
  const paragraph = /<p class="text">.*?<\/p>/s.exec(page)?.[0];
  for (const name of [appName, 'MyAnimeList']) expect(paragraph).toContain(`<bdi>${name}</bdi>`);
  expect(page).toContain('<bdi>mal.test</bdi>');
});

describe('the page at the end', () => {
  test('is one string for all with the same names, and no user sees those of another', async () => {
    const service = createTestService();
    const pages: string[] = [];
    for (const device of ['$& one', 'two', '$& one']) {
      const { state } = await start(service, 'mal', { device });
      pages.push(await textOf(await callback(service, state)));
      service.clock.advance(10_000);
    }
    expect(pages[0]).toContain('$&amp; one');
    expect(pages[0]).toContain('MyAnimeList');
    expect(pages[1]).toContain('two');
    expect(pages[1]).not.toContain('one');
    expect(pages[2]).toBe(pages[0] ?? '');
  });

  const THEIRS = 'MyAnimeList had a problem.';
  const REFUSED = 'MyAnimeList declined the sign-in; it may have taken too long.';
  test.each([
    ['code=of-an-exchange-that-fails', THEIRS],
    ['error=server_error', THEIRS],
    ['error=invalid_scope', REFUSED],
    ['', THEIRS],
  ])('after "%s" says who failed, and where to start again', async (query, fault) => {
    const service = createTestService({ fetch: () => Promise.reject(new Error('a reset')) });
    const { state } = await start(service, 'mal', { device: 'Living room TV <1>' });
    const text = await textOf(await callback(service, state, query));
    // The text is escaped, because textOf does not unescape.
    for (const said of [fault, 'Start again on Living room TV &lt;1&gt;.', 'Reference'])
      expect(text).toContain(said);
  });

  test('after a fault of the relay says so, and to reload', async () => {
    const beforeStore = (verb: string) => {
      if (verb === 'lease') throw new Error('a bug');
    };
    const service = createTestService({ beforeStore });
    const { state } = await start(service);
    const answer = await callback(service, state);
    expect(answer.status).toBe(503);
    const text = await textOf(answer);
    for (const said of ['The fault is with this service', 'Reload', 'Reference']) {
      expect(text).toContain(said);
    }
  });
});

describe('a mistyped address', () => {
  const basePath = '/relay';
  const service = createTestService({ baseUrl: `https://relay.test${basePath}` });
  const FORM = `${basePath}/link`;
  const CODE = `${basePath}/L/WDJB-MJHT`;

  test.each([
    ['/LINK', FORM],
    ['/link/', FORM],
    ['/l', FORM],
    ['/L//', FORM],
    ['/l/wdjbmjht', CODE],
    ['/LINK/WDJBMJHT/', CODE],
    ['/L/WDJB-MJHT/', CODE],
    ['/WDJB%20MJHT', CODE],
    // A blank or an invisible character that was copied with the link.
    ['/L/WDJB-MJHT%20', CODE],
    ['/l/WDJB-MJHT%E2%80%8B', CODE],
    ['/link?code=wdjb-mjht', CODE],
    // Letters of a Cyrillic and of a Greek keyboard.
    ['/link?code=wdjв-мjнт', CODE],
    ['/link?code=WDJΒ-ΜJΗΤ', CODE],
    // The dash of a Japanese keyboard is a letter in Unicode.
    ['/link?user_code=ＷＤＪＢーＭＪＨＴ', CODE],
    ['/LINK?code=wdjb-mjht', CODE],
    ['/link/?user_code=WDJBMJHT', CODE],
    // A whole link of this relay, as users paste it.
    ['/link?code=%20https://relay.test/relay/L/WDJB-MJHT.', CODE],
    ['/link?code=HTTPS://RELAY.TEST/relay/L/wdjb-mjht/?fbclid=x', CODE],
    ['/link?code=relay.test/relay/link?code=WDJB%E2%80%8BMJHT', CODE],
  ])('%s redirects to %s, whether or not there is such a code', async (path, location) => {
    const answer = await service.ask(basePath + path);
    expect([answer.status, answer.headers.get('location')]).toEqual([302, location]);
  });

  test('an app whose base URL has a wrong path reads that, and gets no page', async () => {
    for (const path of ['/wrong/services', `${basePath}/wrong/services`, '/wrong/auth/start']) {
      const answer = await service.ask(path);
      expect([answer.status, await answer.text()]).toEqual([404, '404 page not found\n']);
    }
  });

  test.each([
    ['/L/WDJB-MJH', 404, 'This code is not valid'],
    ['/l/%E0%A4%A', 404, 'This code is not valid'],
    ['/link?code=WDJB', 400, 'That code is incomplete'],
    ['/link/?code=WDJB', 400, 'That code is incomplete'],
    ['/link?code=https://evil.test/relay/L/WDJB-MJHT', 400, 'That code is incomplete'],
    ['/link?code=https://relay.test@evil.test/L/WDJB-MJHT', 400, 'That code is incomplete'],
    ['/link?code=//relay.test.evil.test/WDJB-MJHT', 400, 'That code is incomplete'],
    ['/link?code=https://relay.test//evil.test/', 400, 'That code is incomplete'],
    ['/link/nowhere/else', 404, 'This page doesn’t exist'],
    ['/%E0%A4%A', 404, 'This page doesn’t exist'],
  ])('%s is %d, with the form', async (path, status, said) => {
    const answer = await service.ask(basePath + path);
    expect(answer.status).toBe(status);
    const page = await answer.text();
    expect(sentencesOf(page)).toContain(said);
    expect(page).toContain(`<form method="post" action="${FORM}">`);
  });

  test('what was typed is in the field, to be corrected', async () => {
    const page = await (await service.ask(`${basePath}/L/wdjb%22mj`)).text();
    expect(page).toContain('value="wdjb&quot;mj"');
  });

  test.each(['/L/', '/link?code='])(
    'of a long text after %s the field has the beginning',
    async (path) => {
      const page = await (await service.ask(`${basePath}${path}${'x'.repeat(2_000)}`)).text();
      expect(page).toContain(`value="${'x'.repeat(512)}"`);
    },
  );
});

test.each(['/qr/x/y', '/.well-known/x'])('%s is not for users: 404 as text', async (path) => {
  const answer = await createTestService().ask(path);
  expect(answer.status).toBe(404);
  expect(await answer.text()).toBe('404 page not found\n');
});

test('the code form has one field, which no browser corrects, fills in or cuts', async () => {
  const page = await (await createTestService().ask('/link')).text();
  const [field = '', ...others] = page.match(/<input[^>]*>/g) ?? [];
  expect(others).toEqual([]);
  for (const attribute of [
    'placeholder="XXXX-XXXX"',
    'autocapitalize="characters"',
    'autocomplete="one-time-code"',
    'autocorrect="off"',
    'spellcheck="false"',
    'aria-describedby="hint"',
  ]) {
    expect(field).toContain(attribute);
  }
  expect(field).not.toContain('maxlength');
  expect(page).toContain('<label for="code">');
});

describe('the brand', () => {
  const service = createTestService({ branding: BRANDED });

  test('is on every page: logo, colour, icon, links', async () => {
    const { link } = await startWithCode(service);
    for (const path of ['/', '/link', link, '/nowhere', '/auth/mal?state=x', '/auth/done']) {
      const page = await (await service.ask(path)).text();
      expect(page).toContain('<img src="/logo" alt="Acme TV"/>');
      expect(page).toContain('<link rel="icon" href="/favicon.ico"/>');
      expect(page).toContain('--accent:#c2410c;--on-accent:#ffffff');
      expect(page).toContain('--accent:#fdba74;--on-accent:#000000');
      for (const name of ['privacy', 'terms', 'help']) {
        expect(page).toContain(`<a href="https://acme.example/${name}">`);
      }
    }
  });

  test('a logo without a name stands for the host, for users who do not see it', () => {
    const { appName: _, ...nameless } = BRANDED;
    const { home } = createPagesFor(nameless).find('en');
    expect(home).toContain('<img src="/logo" alt="relay.example"/>');
  });

  test.each(['/logo', '/favicon.ico'])(
    '%s is the logo, which runs and loads nothing',
    async (path) => {
      const answer = await service.ask(path);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toBe('image/svg+xml');
      expect(answer.headers.get('content-security-policy')).toBe(
        "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      );
      expect(Buffer.from(await answer.bytes()).toString('base64')).toBe(BRANDED.logo?.base64 ?? '');
    },
  );

  test('only pictures may be kept by a cache', async () => {
    const { link, url } = await startWithCode(service);
    for (const path of ['/', '/link', link, url, '/nowhere', '/auth/done', '/openapi.json']) {
      const { headers } = await service.ask(path);
      expect(headers.get('cache-control')).toBe('no-store, private');
    }
    const { headers } = await service.ask('/logo');
    expect(headers.get('cache-control')).toBe('public, max-age=86400');
  });

  test('without one there is an icon, no logo, no footer, and no link', async () => {
    const plain = createTestService();
    const page = await (await plain.ask('/')).text();
    expect(page).not.toMatch(/<img|<footer|<a /);
    expect((await plain.ask('/logo')).status).toBe(404);
    expect((await plain.ask('/favicon.ico')).headers.get('content-type')).toBe('image/svg+xml');
  });

  test('the home page says what the service does, with whom, and may be listed', async () => {
    const page = await (await service.ask('/')).text();
    const text = sentencesOf(page);
    for (const said of [
      'Use your phone to sign in to Acme TV',
      'Acme TV gets access to your account only if you agree',
      'keeps none of it',
      'MyAnimeList, AniList',
      'Privacy policy',
    ]) {
      expect(text).toContain(said);
    }
    expect(page).not.toContain('noindex');
    expect(await (await service.ask('/link')).text()).toContain('noindex');
  });
});
