/** @jsxImportSource hono/jsx */
/**
 * The page on which a user types the code that a device shows. It has one field,
 * because several would break pasting and screen readers. It has no `maxlength`, which
 * would cut a code that is pasted with blanks in it.
 */
import { Fact, type Frame, renderPage } from './layout.tsx';
import type { TitledMessage } from './messages/en.ts';
import { isolate, Words } from './words.tsx';

interface CodeForm {
  /** Names of the providers at which users may sign in: only on the home page. */
  readonly providers?: readonly string[];
  /** Why the form is shown again. */
  readonly alert?: TitledMessage;
  /** Why the form is shown instead of another page. Its title is the heading. */
  readonly error?: TitledMessage;
  /** What the user typed, to be corrected. */
  readonly written?: string;
}

/** What a code looks like. The same in all languages. */
const EXAMPLE = 'XXXX-XXXX';

export function renderCodeForm(frame: Frame, form: CodeForm = {}): string {
  const { words, appName } = frame;
  const { providers, alert, error, written = '' } = form;
  const app = appName && isolate(appName);
  const heading = error?.title ?? (providers ? words.home.title(app) : words.codeForm.title);
  // No focus if there is text to read first: a keyboard on the screen would cover it.
  const hasFocus = written === '' && !providers && !alert && !error;
  return renderPage(frame, {
    title: alert?.title ?? heading,
    isPublic: providers !== undefined,
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
        {codeField(frame, written, alert !== undefined, hasFocus)}
        {providers && (
          <div class="about">
            <p>
              <Words>{words.home.about(app)}</Words>
            </p>
            <p>
              <Words>{words.home.data(app ?? isolate(frame.host))}</Words>
            </p>
            {providers.length > 0 && (
              <dl class="box">
                <Fact name={words.home.providers}>{providers.join(', ')}</Fact>
              </dl>
            )}
          </div>
        )}
      </>
    ),
  });
}

/** The form alone. The element that says what is wrong has the id `alert`. */
export function codeField(frame: Frame, written = '', isWrong = false, hasFocus = false) {
  const words = frame.words.codeForm;
  return (
    <form method="post" action={frame.codeForm}>
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
        // By default iOS and Firefox replace half a code by a word.
        autocorrect="off"
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
