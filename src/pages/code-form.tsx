/** @jsxImportSource hono/jsx */
/**
 * The page on which a user types the code that a device shows. It has one field,
 * because several would break pasting and screen readers. It has no `maxlength`, which
 * would cut a code that is pasted with blanks in it.
 */
import { renderPage } from './layout.tsx';
import type { Language } from './messages/catalogue.ts';
import type { Messages, Notice } from './messages/messages.ts';

export interface CodeForm {
  readonly language: Language;
  readonly words: Messages['codeForm'];
  /** Where the form is sent: a path, so that it works under any host name of the relay. */
  readonly action: string;
  /** Replaces the form's own title: what this service is. */
  readonly about?: { readonly title: string; readonly text: string };
  /** Why the form is shown again. */
  readonly notice?: Notice;
  /** What the user typed, to be corrected. */
  readonly written?: string;
}

export function renderCodeForm(form: CodeForm): string {
  const { language, words, action, about, notice, written = '' } = form;
  const heading = about?.title ?? words.title;
  return renderPage({
    language,
    title: notice?.title ?? heading,
    isAsking: true,
    body: (
      <>
        <h1>{heading}</h1>
        {about && <p>{about.text}</p>}
        {notice && (
          <p role="alert" id="notice">
            <strong>{notice.title}</strong> {notice.message}
          </p>
        )}
        <form method="post" action={action}>
          <label for="code">{words.label}</label>
          <input
            id="code"
            name="code"
            value={written}
            dir="ltr"
            autocapitalize="characters"
            autocomplete="off"
            spellcheck={false}
            enterkeyhint="go"
            required
            aria-describedby={notice ? 'notice hint' : 'hint'}
            aria-invalid={notice ? 'true' : undefined}
            // Not if there is text to read first: a keyboard on the screen would cover it.
            autofocus={written === '' && !about && !notice}
          />
          <small id="hint">{words.hint}</small>
          <button type="submit">{words.submit}</button>
        </form>
      </>
    ),
  });
}
