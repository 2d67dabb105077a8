/**
 * Every page that a user may see, in the user's language. Pages that are the same for all
 * users are rendered once, because every sign-in ends with one of them.
 */
import { renderCodeForm } from './code-form.tsx';
import { type Request, renderConfirm } from './confirm.tsx';
import { chooseLanguage } from './language.ts';
import { CATALOGUE, type Language } from './messages/catalogue.ts';
import type { Messages, Notice } from './messages/messages.ts';
import { renderOutcome } from './outcome.tsx';

export interface PagesOptions {
  readonly appName: string | undefined;
  /** Path to which the code form is sent. */
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

/** The pages for an `Accept-Language` header. */
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

  const renderFailure = (message: string) =>
    renderOutcome({
      language,
      mark: 'failed',
      title: failed.title,
      heading: failed.title,
      message,
    });
  const renderNotice = ({ title, message }: Notice, mark: 'failed' | 'stopped') =>
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
    cancelled: renderFailure(failed.cancelled),
    failed: renderFailure(failed.tryAgain),
    incomplete: renderFailure(failed.incomplete),
    notCompleted: renderFailure(failed.notCompleted),
    linkInvalid: renderFailure(failed.linkInvalid(appName)),
    declined: renderNotice(words.declined, 'stopped'),
    cancelledOnDevice: renderNotice(words.cancelledOnDevice, 'stopped'),
    tooManyTries: renderNotice(words.tooManyTries, 'failed'),
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
