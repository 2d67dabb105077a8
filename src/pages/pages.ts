/**
 * Every page that a user may see, in the user's language. A page that is the same for
 * all users is rendered once; so is the page at the end of a sign-in, with placeholders
 * for the names.
 */
import type { Accent } from './accent.ts';
import { renderCodeForm } from './code-form.tsx';
import { type AskingSignIn, renderConfirm } from './confirm.tsx';
import { chooseLanguage } from './language.ts';
import type { Frame, Links } from './layout.tsx';
import { CATALOGUE, type Language } from './messages/catalogue.ts';
import type { Messages } from './messages/en.ts';
import { type Names, type OutcomeName, renderOutcome } from './outcome.tsx';
import type { Picture } from './picture.ts';
import { createStyle } from './style.ts';
import { isolate } from './words.tsx';

/** The operator's own content of the pages. */
export interface Branding {
  readonly appName?: string;
  readonly logo?: Picture;
  readonly accent?: Accent;
  readonly links?: Links;
}

/** The page on which a user types a code. */
export const codeFormOf = (baseUrl: string) => `${baseUrl}/link`;

export interface PagesOptions {
  readonly branding: Branding;
  /** The host of the base URL. */
  readonly host: string;
  /** Path of the base URL; empty without one. */
  readonly basePath: string;
  /** Names of the providers at which users may sign in. */
  readonly providers: readonly string[];
}

type LanguagePages = ReturnType<typeof createLanguagePages>;

export type Pages = ReturnType<typeof createPages>;

export function createPages({ branding, host, basePath, providers }: PagesOptions) {
  const { appName, accent, logo, links = {} } = branding;
  const style = createStyle(accent);
  const frame: Frame = {
    style,
    appName,
    host,
    logo: logo && `${basePath}/logo`,
    icon: `${basePath}/favicon.ico`,
    links,
  };
  const rendered = new Map<Language, LanguagePages>();
  /** The pages for an `Accept-Language` header. */
  function find(acceptLanguage: string | undefined): LanguagePages {
    const language = chooseLanguage(acceptLanguage);
    const known = rendered.get(language);
    if (known !== undefined) return known;
    const pages = createLanguagePages(language, frame, codeFormOf(basePath), providers);
    rendered.set(language, pages);
    return pages;
  }
  return { find, style };
}

/** Placeholders for names in a page that is rendered once for all users. No name has these characters (shown-name.ts). */
const PLACES = { deviceName: '\uE000', provider: '\uE001', reference: '\uE002' } as const;
const PLACE = /([\uE000-\uE002])/;

function createLanguagePages(
  language: Language,
  frame: Frame,
  action: string,
  providers: readonly string[],
) {
  const words: Messages = CATALOGUE[language];
  const app = frame.appName === undefined ? undefined : isolate(frame.appName);
  const form = { language, words, frame, action };
  /** By outcome, then by which names are known. */
  const templates = new Map<OutcomeName, (readonly string[])[]>();

  /** A page with placeholders for the names that are known, because its text depends on which are. */
  function templateOf(name: OutcomeName, { deviceName, provider, reference }: Names) {
    const known = (deviceName ? 1 : 0) + (provider ? 2 : 0) + (reference ? 4 : 0);
    const ofOutcome = templates.get(name) ?? [];
    templates.set(name, ofOutcome);
    const rendered = ofOutcome[known];
    if (rendered !== undefined) return rendered;
    const places: Names = {
      deviceName: deviceName && PLACES.deviceName,
      provider: provider && PLACES.provider,
      reference: reference && PLACES.reference,
    };
    const template = renderOutcome(name, places, form).split(PLACE);
    ofOutcome[known] = template;
    return template;
  }

  const { home } = words;
  return {
    /** The page at the end of a sign-in, or where it cannot continue. */
    outcome(name: OutcomeName, names: Names = {}): string {
      let page = '';
      for (const part of templateOf(name, names)) {
        if (part === PLACES.deviceName) page += escapeHtml(names.deviceName);
        else if (part === PLACES.provider) page += escapeHtml(names.provider);
        else if (part === PLACES.reference) page += escapeHtml(names.reference);
        else page += part;
      }
      return page;
    },
    home: renderCodeForm({
      ...form,
      home: {
        title: home.title(app),
        about: home.about(app),
        data: home.data(app ?? isolate(frame.host)),
        providers: providers.join(', '),
      },
    }),
    codeForm: renderCodeForm(form),
    notFound: renderCodeForm({ ...form, error: words.notFound }),
    codeIncomplete: (written: string) =>
      renderCodeForm({ ...form, alert: words.codeIncomplete, written }),
    codeUnknown: (written: string) =>
      renderCodeForm({ ...form, alert: words.codeUnknown, written }),
    confirm: (asking: AskingSignIn) => renderConfirm({ ...asking, language, words, frame }),
  };
}

const ESCAPED: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text = ''): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPED[character] ?? '');
}
