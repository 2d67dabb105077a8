/** Which language a page is in. RFC 9110 §12.5.4. */
import { parseAccept } from 'hono/utils/accept';
import { LANGUAGES, type Language } from './messages/catalogue.ts';

/**
 * How many characters of `Accept-Language` are read: browsers send some 30. 256 have
 * room for 128 tags, which take about 15 µs to look up.
 */
const MAX_HEADER_CHARACTERS = 256;

/** The language for a browser that lists none of ours. */
const FALLBACK: Language = 'en';

/** A language tag of Chinese, with script and region. RFC 5646 §2.1. */
const CHINESE = /^zh(?:-([a-z]{4}))?(?:-([a-z]{2}|\d{3}))?(?:-|$)/;

/** Regions in which Chinese is written in traditional characters unless the tag names a script. CLDR, likely subtags. */
const TRADITIONAL_REGIONS = new Set('au bn gb gf hk id mo pa pf ph sr th tw us vn'.split(' '));

/** The languages by their written language: `de`, `zh-hant`, and `pt` for `pt-BR`. */
const BY_WRITTEN_LANGUAGE = new Map(
  LANGUAGES.map((language) => [writtenLanguageOf(language), language]),
);

/** The first of the browser's preferred languages that the pages have. */
export function chooseLanguage(acceptLanguage = ''): Language {
  if (acceptLanguage === '') return FALLBACK;
  // Already sorted by q. The sort is stable, so of equals the first wins.
  for (const { type, q } of parseAccept(acceptLanguage.slice(0, MAX_HEADER_CHARACTERS))) {
    const language = q > 0 && BY_WRITTEN_LANGUAGE.get(writtenLanguageOf(type));
    if (language) return language;
  }
  return FALLBACK;
}

/**
 * The part of a tag that must be equal to that of a page: the language, and for Chinese
 * also the script, because it has two written forms. In any other language another
 * region or script is still closer than English. Intl.Locale would take 2 to 5 µs for
 * each tag, and anyone may send many tags.
 */
function writtenLanguageOf(tag: string): string {
  const wanted = tag.toLowerCase();
  const [language = ''] = wanted.split('-', 1);
  if (language !== 'zh') return language;
  const [, script, region = ''] = CHINESE.exec(wanted) ?? [];
  return `zh-${script ?? (TRADITIONAL_REGIONS.has(region) ? 'hant' : 'hans')}`;
}
