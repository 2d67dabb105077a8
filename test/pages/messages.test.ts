/** The messages of each language: complete, in that language, with the names in their places. */
import { describe, expect, test } from 'bun:test';
import { CATALOGUE, LANGUAGES, type Language } from '../../src/pages/messages/catalogue.ts';
import { isolate, withoutMarks } from '../../src/pages/words.tsx';
import { createPagesFor, renderEveryPage } from '../kit/pages.ts';
import { sentencesOf } from '../kit/user.ts';

const APP = 'Plezy & <Friends>';
const APP_ESCAPED = 'Plezy &amp; &lt;Friends&gt;';
const PROVIDER = 'MyAnimeList';

/** Every text by its key in the catalogue; functions are called with the names that they need. */
function textsOf(language: Language, app?: string): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const [group, words] of Object.entries(CATALOGUE[language])) {
    for (const [name, word] of Object.entries(words)) {
      texts[`${group}.${name}`] = typeof word === 'string' ? word : say(name, word as Speak, app);
    }
  }
  return texts;
}

type Speak = (...given: unknown[]) => string;

/** Names are marked; texts are compared without the marks. */
function say(name: string, speak: Speak, app?: string): string {
  const appName = app && isolate(app);
  const appOrHost = appName ?? isolate('relay.example');
  const given: Record<string, unknown[]> = {
    consequence: [PROVIDER, appOrHost],
    data: [appOrHost],
    providerFault: [PROVIDER],
    refused: [PROVIDER],
    startAgain: [app && 'Küche'],
    signInAt: ['acme.example'],
  };
  const said = name === 'message' && speak.toString().includes('seconds');
  return withoutMarks(said ? speak(10) : speak(...(given[name] ?? [appName])));
}

describe.each(LANGUAGES)('%s', (language) => {
  test('has every text that English has, none of them empty', () => {
    const texts = textsOf(language);
    expect(Object.keys(texts).toSorted()).toEqual(Object.keys(textsOf('en')).toSorted());
    expect(Object.entries(texts).filter(([, text]) => text.trim().length < 2)).toEqual([]);
    expect(JSON.stringify(texts)).not.toMatch(/undefined|\bnull\b|\[object/);
  });

  test('tells a user who comes back without a cookie to allow cookies', () => {
    const { 'failed.otherBrowser': text } = textsOf(language);
    expect(text).toMatch(/cookie|ملفات تعريف الارتباط|쿠키/i);
  });

  test('is declared on every page, with its direction', () => {
    const start = `<!doctype html><html lang="${language}" dir="${language === 'ar' ? 'rtl' : 'ltr'}">`;
    for (const page of Object.values(renderEveryPage(language))) expect(page).toStartWith(start);
  });

  test('names the provider, and the app, escaped, or else the host', () => {
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
    const pages = renderEveryPage(language, { appName: APP });
    for (const name of ['signed-in', 'link-invalid', 'home', 'confirm']) {
      expect(pages[name]).toContain(APP_ESCAPED);
      expect(pages[name]).not.toContain('<Friends>');
    }
    for (const name of ['home', 'confirm']) {
      expect(sentencesOf(renderEveryPage(language)[name] ?? '')).toContain('relay.example');
      expect(sentencesOf(pages[name] ?? '')).not.toContain('relay.example');
    }
  });

  test('does not use a label as the name of a device without one', () => {
    const asking = { isOpen: true, provider: PROVIDER, providerHost: 'acme.example', ageMs: 0 };
    const page = createPagesFor().find(language).confirm(asking);
    expect(page).not.toContain(`<bdi>${CATALOGUE[language].confirm.device}</bdi>`);
    expect(CATALOGUE[language].confirm.consequence(PROVIDER)).not.toContain('undefined');
  });

  test('shows how long ago the sign-in started', () => {
    const pages = createPagesFor().find(language);
    const format = new Intl.RelativeTimeFormat(language, { numeric: 'always' });
    const { justNow } = CATALOGUE[language].confirm;
    for (const [ageMs, said] of [
      [-3_000, justNow],
      [59_999, justNow],
      [60_000, format.format(-1, 'minute')],
      [3_599_999, format.format(-59, 'minute')],
      [7_200_000, format.format(-2, 'hour')],
    ] as const) {
      expect(pages.confirm({ provider: PROVIDER, providerHost: 'acme.example', ageMs })).toContain(
        `<bdi>${said}</bdi>`,
      );
    }
  });
});

test.each(LANGUAGES.filter((language) => language !== 'en'))(
  'nothing in %s is left in English',
  (language) => {
    const english = textsOf('en');
    const same = Object.entries(textsOf(language)).filter(([key, text]) => text === english[key]);
    expect(same).toEqual([]);
    // None of these words exists in any of the other languages.
    const left = /\b(the|your|you|this|please|sign(ed)?|if|was|and|or|ago|now)\b/i;
    for (const page of Object.values(renderEveryPage(language))) {
      const said = sentencesOf(page).replaceAll(/(acme|relay)\.example/g, '');
      expect(said).not.toMatch(left);
    }
  },
);

/** The page names the provider as a service beside it. */
test.each([
  ['de', /diese[mrs] Dienst/i],
  ['es', /este servicio/i],
  ['fr', /ce service/i],
  ['it', /questo servizio/i],
  ['ja', /このサービス/],
  ['ko', /이 서비스/],
  ['pt-BR', /este serviço/i],
  ['ru', /эт(?:от|ого|ом) сервис/i],
  ['zh-Hans', /此服务/],
  ['zh-Hant', /此服務/],
  ['ar', /هذه الخدمة/],
] as const)(
  'where English says “this service”, %s does not say “the service”',
  (language, said) => {
    const texts = textsOf(language);
    const english = Object.entries(textsOf('en')).filter(([, text]) => /this service/i.test(text));
    expect(english.length).toBeGreaterThan(3);
    for (const [key] of english) expect(texts[key]).toMatch(said);
  },
);

/** That they are on the pages, the conformance suite tests. */
test('no element is within a sentence of docs/protocol.md', () => {
  const pages = renderEveryPage('en');
  for (const [name, sentence] of Object.entries({
    'signed-in': 'You can close this tab and return to the app.',
    cancelled: 'Sign-in was cancelled.',
    'failed-refused': 'Sign-in failed. Please try again.',
    incomplete: 'Sign-in response was incomplete. Please try again.',
    'not-exchanged-refused': 'Couldn&#39;t complete sign-in. Please try again.',
    'link-invalid': 'This sign-in link is no longer valid. Please start again from the app.',
  })) {
    expect(pages[name]).toContain(`<p>${sentence}</p>`);
  }
});
