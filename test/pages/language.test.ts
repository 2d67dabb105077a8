/** Which language a browser's wishes come to. RFC 9110 §12.5.4. */
import { describe, expect, test } from 'bun:test';
import { chooseLanguage } from '../../src/pages/language.ts';
import { LANGUAGES } from '../../src/pages/messages/catalogue.ts';

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
    ['what an iPhone in Japan sends', 'ja-JP,ja;q=0.9,en-US;q=0.8,en;q=0.7', 'ja'],
  ])('%s', (_, header, language) => {
    expect(chooseLanguage(header)).toBe(language as never);
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
});
