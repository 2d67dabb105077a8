/** @jsxImportSource hono/jsx */
/** The page at the end of a sign-in: a mark, a heading, a sentence. docs/protocol.md §5. */
import { renderPage } from './layout.tsx';
import type { Language } from './messages/catalogue.ts';

/** Paths within a circle. The name is also the CSS class. */
const MARKS = {
  done: 'm7.5 12.5 3 3 6-6.5',
  failed: 'M12 7v6m0 3.5v.01',
  /** Ended as the user wanted, without a sign-in. */
  stopped: 'M8 12h8',
} as const;

export interface Outcome {
  readonly language: Language;
  readonly mark: keyof typeof MARKS;
  readonly title: string;
  readonly heading: string;
  readonly message: string;
}

export function renderOutcome({ language, mark, title, heading, message }: Outcome): string {
  return renderPage({
    language,
    title,
    body: (
      <>
        <svg class={mark} viewBox="0 0 24 24" aria-hidden="true">
          <circle cx="12" cy="12" r="10" />
          <path d={MARKS[mark]} />
        </svg>
        <h1>{heading}</h1>
        <p>{message}</p>
      </>
    ),
  });
}

/**
 * The page with the id of its sign-in at the end, which a user can read to the operator.
 * "ID" is understood in every language of the pages. `id` has nothing to escape.
 */
export function withSignInId(page: string, id: string): string {
  return page.replace('</main>', `<small>ID <bdi>${id}</bdi></small></main>`);
}
