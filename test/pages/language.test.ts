/** Which language a page is in. RFC 9110 §12.5.4: Accept-Language. */
import { describe, expect, test } from 'bun:test';
import { LANGUAGES } from '../../src/pages/messages/catalogue.ts';
import { chooseLanguage } from '../../src/pages/pages.ts';

describe('Accept-Language', () => {
  test.each(LANGUAGES)('%s is available, in any case', (language) => {
    expect(chooseLanguage(language)).toBe(language);
    expect(chooseLanguage(language.toLowerCase())).toBe(language);
  });

  test.each([
    ['the highest q wins', 'fr;q=0.5, de;q=0.9, es;q=0.8', 'de'],
    ['of equal ones the first', 'it, de', 'it'],
    ['the first that is available', 'tlh, nl;q=0.9, ru;q=0.3', 'ru'],
    ['a region falls back to its language', 'de-CH, en;q=0.8', 'de'],
    ['Portuguese of Portugal gets that of Brazil', 'pt-PT', 'pt-BR'],
    ['an explicit script counts more than the region', 'zh-Hant-CN', 'zh-Hant'],
    ['Chinese of no region is simplified', 'zh', 'zh-Hans'],
    ['Chinese in another script is not available', 'zh-Latn, it;q=0.5', 'it'],
    ['an extension is not a region', 'zh-u-co-stroke, de;q=0.5', 'zh-Hans'],
    ['what Chrome in Taiwan sends', 'zh-TW,zh;q=0.9,en-US;q=0.8,en;q=0.7', 'zh-Hant'],
  ])('%s', (_, header, language) => {
    expect(chooseLanguage(header)).toBe(language as never);
  });

  test('a region writes the Chinese that CLDR says (likely subtags)', () => {
    const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
    for (const tag of letters.flatMap((first) => letters.map((second) => `zh-${first}${second}`))) {
      // No browser sends aliases, such as UK for GB.
      if (['zh-PZ', 'zh-UK', 'zh-VD'].includes(tag)) continue;
      const { script } = new Intl.Locale(tag).maximize();
      expect([tag, chooseLanguage(tag)]).toEqual([tag, `zh-${script}` as never]);
    }
  });

  test.each([
    ['no header', undefined],
    ['an empty one', ''],
    ['any language', '*'],
    ['none that is available', 'tlh, nl'],
    ['one that is excluded', 'de;q=0'],
    ['no language tags', 'en_US; q=x, ;;;,,, "de", <de>'],
  ])('%s is English', (_, header) => {
    expect(chooseLanguage(header)).toBe('en');
  });

  test('only the start of a very long header is read', () => {
    expect(chooseLanguage(`${'nl,'.repeat(200)}de`)).toBe('en');
    expect(chooseLanguage(`de${',nl'.repeat(100_000)}`)).toBe('de');
  });
});
