/**
 * Every page a user may see, in their language. Pages that are the same for everybody
 * are rendered once: the callback's is on the hot path.
 */
import { renderCodeForm } from './code-form.tsx';
import { type Request, renderConfirm } from './confirm.tsx';
import { chooseLanguage } from './language.ts';
import { CATALOGUE, type Language } from './messages/catalogue.ts';
import type { Messages, Notice } from './messages/messages.ts';
import { renderOutcome } from './outcome.tsx';

export interface PagesOptions {
  readonly appName: string | undefined;
  /** Path that the code form goes to. */
  readonly codeAction: string;
}

export interface LanguagePages {
  readonly signedIn: string;
  readonly cancelled: string;
  readonly failed: string;
  readonly incomplete: string;
  readonly notCompleted: string;
  readonly linkInvalid: string;
  readonly declined: string;
  readonly cancelledOnDevice: string;
  readonly tooManyTries: string;
  readonly home: string;
  readonly codeForm: string;
  codeIncomplete(written: string): string;
  codeUnknown(written: string): string;
  confirm(request: Request): string;
}

/** By a request's `Accept-Language`. */
export type FindPages = (acceptLanguage: string | undefined) => LanguagePages;

export function createPages(options: PagesOptions): FindPages {
  const rendered = new Map<Language, LanguagePages>();
  return (acceptLanguage) => {
    const language = chooseLanguage(acceptLanguage);
    const pages = rendered.get(language) ?? renderPages(language, options);
    rendered.set(language, pages);
    return pages;
  };
}

function renderPages(language: Language, { appName, codeAction }: PagesOptions): LanguagePages {
  const words: Messages = CATALOGUE[language];
  const { signedIn, failed, home } = words;

  const tellFailure = (message: string) =>
    renderOutcome({
      language,
      mark: 'failed',
      title: failed.title,
      heading: failed.title,
      message,
    });
  const tell = ({ title, message }: Notice, mark: 'failed' | 'stopped') =>
    renderOutcome({ language, mark, title, heading: title, message });
  const form = { language, words: words.codeForm, action: codeAction };

  return {
    signedIn: renderOutcome({
      language,
      mark: 'done',
      title: signedIn.title,
      heading: signedIn.heading,
      message: signedIn.message(appName),
    }),
    cancelled: tellFailure(failed.cancelled),
    failed: tellFailure(failed.tryAgain),
    incomplete: tellFailure(failed.incomplete),
    notCompleted: tellFailure(failed.notCompleted),
    linkInvalid: tellFailure(failed.linkInvalid(appName)),
    declined: tell(words.declined, 'stopped'),
    cancelledOnDevice: tell(words.cancelledOnDevice, 'stopped'),
    tooManyTries: tell(words.tooManyTries, 'failed'),
    home: renderCodeForm({
      ...form,
      about: { title: home.title(appName), text: home.about(appName) },
    }),
    codeForm: renderCodeForm(form),
    codeIncomplete: (written) => renderCodeForm({ ...form, notice: words.codeIncomplete, written }),
    codeUnknown: (written) => renderCodeForm({ ...form, notice: words.codeUnknown, written }),
    confirm: (request) => renderConfirm({ ...request, language, words: words.confirm, appName }),
  };
}
