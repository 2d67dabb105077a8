/** What is said in each language: everything, in that language, with the names in their places. */
import { describe, expect, test } from 'bun:test';
import { CATALOGUE, LANGUAGES, type Language } from '../../src/pages/messages/catalogue.ts';
import { createPages } from '../../src/pages/pages.ts';

const APP = 'Plezy & <Friends>';
const APP_ESCAPED = 'Plezy &amp; &lt;Friends&gt;';
const PROVIDER = 'MyAnimeList';

/** Every text, by its place in the catalogue; functions are given what they ask for. */
function textsOf(language: Language, app?: string): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const [group, words] of Object.entries(CATALOGUE[language])) {
    for (const [name, word] of Object.entries(words)) {
      texts[`${group}.${name}`] = typeof word === 'string' ? word : say(name, word as Speak, app);
    }
  }
  return texts;
}

type Speak = (...names: (string | undefined)[]) => string;

function say(name: string, speak: Speak, app?: string): string {
  return name === 'consequence' ? speak(PROVIDER, app) : speak(app);
}

/** As people with `language` get them, each rendered. */
function renderAll(language: Language, appName?: string): Record<string, string> {
  const pages = createPages({ appName, codeAction: '/link' })(language);
  const request = { provider: PROVIDER, ageMs: 125_000, deviceName: 'TV', userCode: 'WDJB-MJHT' };
  const inApp = { link: 'https://relay.test/L/WDJB-MJHT' };
  return {
    ...pages,
    codeIncomplete: pages.codeIncomplete('x'),
    codeUnknown: pages.codeUnknown('WDJBMJHT'),
    confirm: pages.confirm(request),
    confirmInApp: pages.confirm({ ...request, inApp }),
  };
}

describe.each(LANGUAGES)('%s', (language) => {
  test('has the texts that English has, and none of them is empty', () => {
    const texts = textsOf(language);
    expect(Object.keys(texts).toSorted()).toEqual(Object.keys(textsOf('en')).toSorted());
    expect(Object.entries(texts).filter(([, text]) => text.trim().length < 2)).toEqual([]);
    expect(JSON.stringify(texts)).not.toMatch(/undefined|\bnull\b|\[object/);
  });

  test('says its language and its direction on every page', () => {
    const start = `<!doctype html><html lang="${language}" dir="${language === 'ar' ? 'rtl' : 'ltr'}">`;
    for (const page of Object.values(renderAll(language))) expect(page).toStartWith(start);
  });

  test('names the app where it has a name, escaped, and the provider', () => {
    const texts = textsOf(language, APP);
    for (const key of [
      'signedIn.message',
      'failed.linkInvalid',
      'home.title',
      'home.about',
      'confirm.title',
      'confirm.consequence',
    ]) {
      expect(texts[key]).toContain(APP);
      expect(textsOf(language)[key]).not.toContain(APP);
    }
    expect(texts['confirm.consequence']).toContain(PROVIDER);
    const pages = renderAll(language, APP);
    for (const name of ['signedIn', 'linkInvalid', 'home', 'confirm']) {
      expect(pages[name]).toContain(APP_ESCAPED);
      expect(pages[name]).not.toContain('<Friends>');
    }
  });

  test('says since when in its own words', () => {
    const pages = createPages({ appName: undefined, codeAction: '/link' })(language);
    const format = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
    for (const [ageMs, said] of [
      [-3_000, format.format(0, 'second')],
      [59_999, format.format(0, 'second')],
      [60_000, format.format(-1, 'minute')],
      [3_599_999, format.format(-59, 'minute')],
      [7_200_000, format.format(-2, 'hour')],
    ] as const) {
      expect(pages.confirm({ provider: PROVIDER, ageMs })).toContain(`<bdi>${said}</bdi>`);
    }
  });
});

test.each(LANGUAGES.filter((language) => language !== 'en'))(
  '%s leaves nothing in English',
  (language) => {
    const english = textsOf('en');
    const same = Object.entries(textsOf(language)).filter(([key, text]) => text === english[key]);
    expect(same).toEqual([]);
    // A page holds the language's words only: none that is nothing but English.
    const left = /\b(the|your|you|this|please|sign(ed)?|if|was|and|or|ago|now)\b/i;
    for (const page of Object.values(renderAll(language))) {
      const said = page.replace(/<style>.*<\/style>/s, '').replaceAll(/<[^>]*>/g, ' ');
      expect(said).not.toMatch(left);
    }
  },
);

test('English: protocol.md §3 and §4 to the letter', () => {
  expect(textsOf('en')).toMatchObject({
    'signedIn.title': 'Signed in',
    'signedIn.message': 'You can close this tab and return to the app.',
    'failed.title': 'Sign-in failed',
    'failed.cancelled': 'Sign-in was cancelled.',
    'failed.tryAgain': 'Sign-in failed. Please try again.',
    'failed.incomplete': 'Sign-in response was incomplete. Please try again.',
    'failed.notCompleted': "Couldn't complete sign-in. Please try again.",
    'failed.linkInvalid': 'This sign-in link is no longer valid. Please start again from the app.',
  });
});

test('a page that says the same to everybody is rendered once', () => {
  const find = createPages({ appName: undefined, codeAction: '/link' });
  expect(find('de-AT')).toBe(find('de'));
  expect(find('de')).not.toBe(find('fr'));
});

test('what a device calls itself stays its name: no tags, no other direction around it', () => {
  const deviceName = '<script>x</script>\u202e';
  const page = createPages({ appName: undefined, codeAction: '/link' })('en').confirm({
    provider: PROVIDER,
    ageMs: 0,
    deviceName,
  });
  expect(page).toContain('<bdi>&lt;script&gt;x&lt;/script&gt;\u202e</bdi>');
  expect(page).not.toContain('<script');
});
