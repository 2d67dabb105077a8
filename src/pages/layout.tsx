/** @jsxImportSource hono/jsx */
/**
 * The frame of every page: one card, no script, nothing from elsewhere. The
 * person sees it for ten seconds on a phone and must trust it.
 */
import { raw } from 'hono/html';
import type { Child } from 'hono/jsx';
import { directionOf } from './language.ts';
import type { Language } from './messages/catalogue.ts';
import { STYLE } from './style.ts';

export interface Document {
  readonly language: Language;
  readonly title: string;
  /** The page asks the user for something, rather than telling them. */
  readonly isAsking?: boolean;
  readonly body: Child;
}

/** A whole document, as text. Everything in it is escaped by the JSX but the style. */
export function renderPage({ language, title, isAsking = false, body }: Document): string {
  const document = (
    <html lang={language} dir={directionOf(language)}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>{title}</title>
        <style>{raw(STYLE)}</style>
      </head>
      <body>
        <main class={isAsking ? 'ask' : undefined}>{body}</main>
      </body>
    </html>
  );
  return `<!doctype html>${document}`;
}
