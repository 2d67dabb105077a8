/** @jsxImportSource hono/jsx */
/**
 * The page on which a user types the code that a device shows. It has one field,
 * because several would break pasting and screen readers. It has no `maxlength`, which
 * would cut a code that is pasted with blanks in it.
 */
import { Fact, type Frame, renderPage } from './layout.tsx';
import type { Language } from './messages/catalogue.ts';
import type { Messages, TitledMessage } from './messages/en.ts';
import { Words } from './words.tsx';

export interface CodeForm {
  readonly language: Language;
  readonly words: Messages;
  readonly frame: Frame;
  /** Where the form is sent: a path, so that it works under any host name of the relay. */
  readonly action: string;
  /** The home page: what this service is, what it does with data, and where users may have accounts. */
  readonly home?: {
    readonly title: string;
    readonly about: string;
    readonly data: string;
    readonly providers: string;
  };
  /** Why the form is shown again. */
  readonly alert?: TitledMessage;
  /** Why the form is shown instead of another page. Its title is the heading. */
  readonly error?: TitledMessage;
  /** What the user typed, to be corrected. */
  readonly written?: string;
}

/** What a code looks like. The same in all languages. */
const EXAMPLE = 'XXXX-XXXX';

export function renderCodeForm(form: CodeForm): string {
  const { language, words, frame, action, home, alert, error, written = '' } = form;
  const heading = error?.title ?? home?.title ?? words.codeForm.title;
  return renderPage({
    language,
    words: words.links,
    frame,
    title: alert?.title ?? heading,
    isPublic: home !== undefined,
    body: (
      <>
        <h1>
          <Words>{heading}</Words>
        </h1>
        {error && (
          <p>
            <Words>{error.message}</Words>
          </p>
        )}
        {alert && (
          <p class="box alert" role="alert" id="alert">
            <strong>{alert.title}</strong> {alert.message}
          </p>
        )}
        <CodeField
          words={words.codeForm}
          action={action}
          written={written}
          isWrong={alert !== undefined}
          // No focus if there is text to read first: a keyboard on the screen would cover it.
          hasFocus={written === '' && !home && !alert && !error}
        />
        {home && (
          <div class="about">
            <p>
              <Words>{home.about}</Words>
            </p>
            <p>
              <Words>{home.data}</Words>
            </p>
            {home.providers !== '' && (
              <dl class="box">
                <Fact name={words.home.providers}>{home.providers}</Fact>
              </dl>
            )}
          </div>
        )}
      </>
    ),
  });
}

interface Field {
  readonly words: Messages['codeForm'];
  readonly action: string;
  readonly written?: string;
  readonly isWrong?: boolean;
  readonly hasFocus?: boolean;
}

/** The form alone. The element that says what is wrong has the id `alert`. */
export function CodeField({ words, action, written = '', isWrong = false, hasFocus }: Field) {
  return (
    <form method="post" action={action}>
      <label for="code">{words.label}</label>
      <input
        id="code"
        class="code"
        name="code"
        value={written}
        placeholder={EXAMPLE}
        dir="ltr"
        autocapitalize="characters"
        // The browser keeps no code in the history of the field, and may offer one that was copied.
        autocomplete="one-time-code"
        spellcheck={false}
        enterkeyhint="go"
        required
        aria-describedby={isWrong ? 'alert hint' : 'hint'}
        aria-invalid={isWrong ? 'true' : undefined}
        autofocus={hasFocus}
      />
      <small id="hint">{words.hint}</small>
      <button type="submit">{words.submit}</button>
    </form>
  );
}
