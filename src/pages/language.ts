/** In which language a person is spoken to. RFC 9110 §12.5.4. */
import { parseAccept } from 'hono/utils/accept';
import { ACCEPT_LANGUAGE_BYTES } from '../limits.ts';
import { LANGUAGES, type Language } from './messages/catalogue.ts';

/** What a person gets who asks for none that there is. */
const FALLBACK: Language = 'en';

/** `de` of `de`, `zh-Hant` of `zh-Hant`, `pt` of `pt-BR`: what must agree for people to understand. */
const BY_SPEECH = new Map(LANGUAGES.map((language) => [speechOf(language), language]));

/** The language that the browser likes best of those there are. */
export function chooseLanguage(acceptLanguage = ''): Language {
  // Sorted by q already, and stable: of equals the first is meant.
  for (const { type, q } of parseAccept(acceptLanguage.slice(0, ACCEPT_LANGUAGE_BYTES))) {
    const language = q > 0 && BY_SPEECH.get(speechOf(type));
    if (language) return language;
  }
  return FALLBACK;
}

/**
 * Chinese is two written languages; which of them a region such as `zh-TW`
 * writes is known to Unicode (CLDR, likely subtags). Others differ less between
 * regions than from English.
 */
function speechOf(tag: string): string | undefined {
  try {
    const { language, script } = new Intl.Locale(tag).maximize();
    return language === 'zh' ? `zh-${script}` : language;
  } catch {
    // `*`, and what is no language tag at all.
    return undefined;
  }
}

export function directionOf(language: Language): 'ltr' | 'rtl' {
  return language === 'ar' ? 'rtl' : 'ltr';
}
