/** Which language a page is in. RFC 9110 §12.5.4. */
import { parseAccept } from 'hono/utils/accept';
import { LANGUAGES, type Language } from './messages/catalogue.ts';

/**
 * Characters of `Accept-Language` that are read: browsers send some 30. They hold 128
 * tags at most, which take about 15 µs to look up.
 */
const MAX_HEADER_CHARACTERS = 256;

/** For a user who asks for no language that there is. */
const FALLBACK: Language = 'en';

/** A tag of Chinese: its script, its region. RFC 5646 §2.1. */
const CHINESE = /^zh(?:-([a-z]{4}))?(?:-([a-z]{2}|\d{3}))?(?:-|$)/;

/** Where Chinese is written in traditional characters unless the tag names a script. CLDR, likely subtags. */
const TRADITIONAL_REGIONS = new Set('au bn gb gf hk id mo pa pf ph sr th tw us vn'.split(' '));

/** `de` of `de`, `zh-hant` of `zh-Hant`, `pt` of `pt-BR`. */
const BY_SPEECH = new Map(LANGUAGES.map((language) => [speechOf(language), language]));

/** The language that the browser likes best of those there are. */
export function chooseLanguage(acceptLanguage = ''): Language {
  if (acceptLanguage === '') return FALLBACK;
  // Sorted by q already, and stable: of equals the first is meant.
  for (const { type, q } of parseAccept(acceptLanguage.slice(0, MAX_HEADER_CHARACTERS))) {
    const language = q > 0 && BY_SPEECH.get(speechOf(type));
    if (language) return language;
  }
  return FALLBACK;
}

/**
 * What must agree between a tag and a page: the language. Chinese is two written
 * languages, so there the script counts too; other languages differ less between
 * regions and scripts than from English. Looked up rather than asked of
 * Intl.Locale, which takes 2 to 5 µs a tag, and strangers choose the tags.
 */
function speechOf(tag: string): string {
  const wanted = tag.toLowerCase();
  const [language = ''] = wanted.split('-', 1);
  if (language !== 'zh') return language;
  const [, script, region = ''] = CHINESE.exec(wanted) ?? [];
  return `zh-${script ?? (TRADITIONAL_REGIONS.has(region) ? 'hant' : 'hans')}`;
}

export function directionOf(language: Language): 'ltr' | 'rtl' {
  return language === 'ar' ? 'rtl' : 'ltr';
}
