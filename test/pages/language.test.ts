/** Which language a browser's wishes come to. RFC 9110 §12.5.4. */
import { describe, expect, test } from 'bun:test';
import { chooseLanguage } from '../../src/pages/language.ts';
import { LANGUAGES } from '../../src/pages/messages/catalogue.ts';

const ALIASES = ['zh-PZ', 'zh-UK', 'zh-VD'];

describe('Accept-Language', () => {
  test.each(LANGUAGES)('%s is what it asks for', (language) => {
    expect(chooseLanguage(language)).toBe(language);
    expect(chooseLanguage(language.toLowerCase())).toBe(language);
  });

  test.each([
    ['the wish with the highest q', 'fr;q=0.5, de;q=0.9, es;q=0.8', 'de'],
    ['of equal wishes the first', 'it, de', 'it'],
    ['what is there, of what is wished', 'tlh, nl;q=0.9, ru;q=0.3', 'ru'],
    ['a region of a language', 'de-CH, en;q=0.8', 'de'],
    ['a variant and an extension', 'de-DE-1996-u-co-phonebk', 'de'],
    ['Brazil for Portugal', 'pt-PT', 'pt-BR'],
    ['Portuguese of no country', 'pt', 'pt-BR'],
    ['Taiwan writes Hant', 'zh-TW, en;q=0.5', 'zh-Hant'],
    ['Hong Kong writes Hant', 'zh-HK', 'zh-Hant'],
    ['Singapore writes Hans', 'zh-SG', 'zh-Hans'],
    ['a script that is named counts more than the region', 'zh-Hant-CN', 'zh-Hant'],
    ['Chinese of no region', 'zh', 'zh-Hans'],
    ['a script in place of a region', 'zh-Hans-HK', 'zh-Hans'],
    ['Chinese in another script is none of ours', 'zh-Latn, it;q=0.5', 'it'],
    ['a region in small letters', 'zh-tw', 'zh-Hant'],
    ['an extension is no region', 'zh-u-co-stroke, de;q=0.5', 'zh-Hans'],
    ['a region given by its number', 'es-419', 'es'],
    ['what Chrome in Taiwan sends', 'zh-TW,zh;q=0.9,en-US;q=0.8,en;q=0.7', 'zh-Hant'],
    ['what an iPhone in Japan sends', 'ja-JP,ja;q=0.9,en-US;q=0.8,en;q=0.7', 'ja'],
  ])('%s', (_, header, language) => {
    expect(chooseLanguage(header)).toBe(language as never);
  });

  test('which Chinese a region writes is as Unicode has it (CLDR, likely subtags)', () => {
    const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
    for (const tag of letters.flatMap((first) => letters.map((second) => `zh-${first}${second}`))) {
      // Not the aliases, as UK of GB: no browser sends them.
      if (ALIASES.includes(tag)) continue;
      const { script } = new Intl.Locale(tag).maximize();
      expect([tag, chooseLanguage(tag)]).toEqual([tag, `zh-${script}` as never]);
    }
  });

  test.each([
    ['no header', undefined],
    ['an empty one', ''],
    ['any language', '*'],
    ['none of ours', 'tlh, nl'],
    ['ours, but not wanted', 'de;q=0'],
    ['no language tags', 'en_US; q=x, ;;;,,, "de", <de>'],
  ])('%s is English', (_, header) => {
    expect(chooseLanguage(header)).toBe('en');
  });

  test('of a header without end only the start is read', () => {
    expect(chooseLanguage(`${'nl,'.repeat(200)}de`)).toBe('en');
    expect(chooseLanguage(`de${',nl'.repeat(100_000)}`)).toBe('de');
  });

  test('tags are looked up: none costs a locale, however many a stranger sends', () => {
    const { Locale } = Intl;
    let made = 0;
    const counting = class extends Locale {
      constructor(tag: string) {
        super(tag);
        made += 1;
      }
    };
    try {
      Object.assign(Intl, { Locale: counting });
      for (const unknown of ['aa,bb,cc,', 'zh-Latn,', 'tlh-US;q=0.1,']) {
        expect(chooseLanguage(unknown.repeat(40))).toBe('en');
      }
    } finally {
      Object.assign(Intl, { Locale });
    }
    expect(made).toBe(0);
  });
});
