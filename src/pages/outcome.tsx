/** @jsxImportSource hono/jsx */
/** The page at the end of a sign-in: a mark, a heading, what happened, and to which device. docs/protocol.md §5. */
import { CodeField } from './code-form.tsx';
import { Fact, type Frame, renderPage } from './layout.tsx';
import type { Language } from './messages/catalogue.ts';
import type { Messages } from './messages/messages.ts';
import { Words } from './words.tsx';

/** Paths within a circle. The name is also the CSS class. */
const MARKS = {
  done: 'm7.5 12.5 3 3 6-6.5',
  failed: 'M12 7v6m0 3.5v.01',
  /** Ended without a sign-in, and nothing went wrong. */
  stopped: 'M8 12h8',
} as const;

/** What is known about the sign-in. */
export interface Names {
  readonly deviceName?: string | undefined;
  readonly provider?: string | undefined;
  /** Identifies the request in the operator's log. */
  readonly reference?: string | undefined;
}

export interface Outcome {
  readonly language: Language;
  readonly words: Messages;
  readonly frame: Frame;
  readonly mark: keyof typeof MARKS;
  readonly title: string;
  readonly heading: string;
  readonly messages: readonly string[];
  /** Below the reference. */
  readonly note?: string;
  readonly refreshSeconds?: number;
  /** Where a code is sent to, if the page has the form for one. */
  readonly formAction?: string | undefined;
  readonly names: Names;
}

export function renderOutcome(outcome: Outcome): string {
  const { language, words, frame, mark, title, heading, messages, note, formAction } = outcome;
  const { deviceName, provider, reference } = outcome.names;
  return renderPage({
    language,
    words: words.links,
    frame,
    title,
    refreshSeconds: outcome.refreshSeconds,
    body: (
      <>
        <svg class={mark} viewBox="0 0 24 24" aria-hidden="true">
          <circle cx="12" cy="12" r="10" />
          <path d={MARKS[mark]} />
        </svg>
        <h1>
          <Words>{heading}</Words>
        </h1>
        {messages.map((message) => (
          <p>
            <Words>{message}</Words>
          </p>
        ))}
        {(deviceName || provider || reference) && (
          <dl>
            {deviceName && <Fact name={words.confirm.device}>{deviceName}</Fact>}
            {provider && <Fact name={words.confirm.service}>{provider}</Fact>}
            {reference && (
              <Fact name={words.failed.reference} isCode>
                {reference}
              </Fact>
            )}
          </dl>
        )}
        {note && reference && <small>{note}</small>}
        {formAction && <CodeField words={words.codeForm} action={formAction} />}
      </>
    ),
  });
}
