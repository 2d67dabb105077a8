/** @jsxImportSource hono/jsx */
/**
 * The layout of every page: one card, no script, nothing loaded from elsewhere. Users
 * see it on a phone for some seconds, and must be able to trust it.
 */
import { raw } from 'hono/html';
import type { Child } from 'hono/jsx';
import { directionOf } from './language.ts';
import type { Language } from './messages/catalogue.ts';
import { STYLE } from './style.ts';

export interface Document {
  readonly language: Language;
  readonly title: string;
  /** Whether the page has a form. */
  readonly isAsking?: boolean;
  readonly body: Child;
}

/** Returns the whole document as text. JSX escapes everything in it except the style. */
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
