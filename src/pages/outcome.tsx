/** @jsxImportSource hono/jsx */
/** A page that tells how it ended: a mark, a heading, a sentence. `protocol.md` §4. */
import { renderPage } from './layout.tsx';
import type { Language } from './messages/catalogue.ts';

export interface Outcome {
  readonly language: Language;
  readonly isGood: boolean;
  readonly title: string;
  readonly heading: string;
  readonly message: string;
}

export function renderOutcome({ language, isGood, title, heading, message }: Outcome): string {
  return renderPage({
    language,
    title,
    body: (
      <>
        <svg class={isGood ? 'good' : 'bad'} viewBox="0 0 24 24" aria-hidden="true">
          <circle cx="12" cy="12" r="10" />
          <path d={isGood ? 'm7.5 12.5 3 3 6-6.5' : 'M12 7v6m0 3.5v.01'} />
        </svg>
        <h1>{heading}</h1>
        <p>{message}</p>
      </>
    ),
  });
}
