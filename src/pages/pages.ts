/**
 * Every page that a user may see, in the user's language. A page that is the same for
 * all users is rendered once; so is the page at the end of a sign-in, with placeholders
 * for the names.
 */
import { html } from 'hono/html';
import { parseAccept } from 'hono/utils/accept';
import type { Accent } from './accent.ts';
import { renderCodeForm } from './code-form.tsx';
import { renderConfirm, type SignInToConfirm } from './confirm.tsx';
import type { Frame, Links } from './layout.tsx';
import { CATALOGUE, LANGUAGES, type Language } from './messages/catalogue.ts';
import { type Names, type OutcomeName, renderOutcome } from './outcome.tsx';
import type { Picture } from './picture.ts';
import { createStyle } from './style.ts';

/** The operator's own content of the pages. */
export interface Branding {
  readonly appName?: string;
  readonly logo?: Picture;
  readonly accent?: Accent;
  readonly links?: Links;
}

/** The page on which a user types a code. */
export const codeFormOf = (baseUrl: string) => `${baseUrl}/link`;

type LanguagePages = ReturnType<typeof createLanguagePages>;

export type Pages = ReturnType<typeof createPages>;

/** `host` and `basePath` are those of the base URL. `providers` are the names at which users may sign in. */
export function createPages(
  { appName, accent, logo, links = {} }: Branding,
  host: string,
  basePath: string,
  providers: readonly string[],
) {
  const style = createStyle(accent);
  const rendered = new Map<Language, LanguagePages>();
  /** The pages for an `Accept-Language` header. */
  function find(acceptLanguage: string | undefined): LanguagePages {
    const language = chooseLanguage(acceptLanguage);
    const known = rendered.get(language);
    if (known !== undefined) return known;
    const frame = {
      language,
      words: CATALOGUE[language],
      style,
      appName,
      host,
      logo: logo && `${basePath}/logo`,
      icon: `${basePath}/favicon.ico`,
      codeForm: codeFormOf(basePath),
      links,
    };
    const pages = createLanguagePages(frame, providers);
    rendered.set(language, pages);
    return pages;
  }
  return { find, style };
}

/**
 * Placeholders for names in a page that is rendered once for all users, and whose text depends on
 * which of them are known. No name has these characters (shown-name.ts).
 */
const PLACES: ReadonlyMap<string, Exclude<keyof Names, 'isOpen'>> = new Map([
  ['\uE000', 'deviceName'],
  ['\uE001', 'provider'],
  ['\uE002', 'reference'],
] as const);
const PLACE = /([\uE000-\uE002])/;

function createLanguagePages(frame: Frame, providers: readonly string[]) {
  const { words } = frame;
  /** Rendered pages, split at their placeholders, by outcome and placeholders. */
  const templates = new Map<string, readonly string[]>();

  function templateOf(outcome: OutcomeName, names: Names): readonly string[] {
    const known = [...PLACES].filter(([, name]) => names[name]);
    const { isOpen } = names;
    const key = outcome + known.map(([place]) => place).join('') + (isOpen ? 'open' : '');
    const rendered = templates.get(key);
    if (rendered !== undefined) return rendered;
    const places = Object.fromEntries(known.map(([place, name]) => [name, place]));
    const template = renderOutcome(frame, outcome, { ...places, isOpen }).split(PLACE);
    templates.set(key, template);
    return template;
  }

  return {
    /** The page at the end of a sign-in, or where it cannot continue. */
    outcome(outcome: OutcomeName, names: Names = {}): string {
      const parts = templateOf(outcome, names).map((part) => {
        const name = PLACES.get(part);
        return name === undefined ? part : html`${names[name]}`;
      });
      return parts.join('');
    },
    home: renderCodeForm(frame, { providers }),
    codeForm: renderCodeForm(frame),
    notFound: renderCodeForm(frame, { error: words.notFound }),
    codeIncomplete: (written: string) =>
      renderCodeForm(frame, { alert: words.codeIncomplete, written }),
    codeUnknown: (written: string) => renderCodeForm(frame, { alert: words.codeUnknown, written }),
    confirm: (asking: SignInToConfirm) => renderConfirm(frame, asking),
  };
}

/* The language of a page. RFC 9110 §12.5.4. */

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
