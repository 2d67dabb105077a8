/** @jsxImportSource hono/jsx */
/**
 * The layout of every page: whose page it is, and one card. It has no script, and loads nothing from
 * elsewhere. Users see it on a phone for a few seconds, and must be able to trust it.
 */
import { raw } from 'hono/html';
import type { Child } from 'hono/jsx';
import type { Language } from './messages/catalogue.ts';
import type { Messages } from './messages/en.ts';
import { withoutMarks } from './words.tsx';

/** What all pages in one language share: the language, and the operator's content. */
export interface Frame {
  readonly language: Language;
  readonly words: Messages;
  readonly style: string;
  readonly appName: string | undefined;
  /** The relay's host. It stands for an app without a name. */
  readonly host: string;
  /** A path on the relay. Undefined if there is no logo. */
  readonly logo: string | undefined;
  readonly icon: string;
  /** Where a code is sent: a path, so that it works under any host name of the relay. */
  readonly codeForm: string;
  readonly links: Links;
}

/** Pages of the operator's own. */
export interface Links {
  readonly privacy?: string;
  readonly terms?: string;
  readonly support?: string;
}

interface PageContent {
  readonly title: string;
  /** Class of the body, if the page differs from a form. */
  readonly kind?: 'confirm' | 'outcome';
  /** True if search engines may list the page: only the home page. */
  readonly isPublic?: boolean;
  /** After this time the browser requests the page's URL again, by GET. */
  readonly refreshSeconds?: number | undefined;
  readonly body: Child;
}

const LINKS = ['privacy', 'terms', 'support'] as const;

/** Returns the whole document as text. JSX escapes everything in it except the style. */
export function renderPage(frame: Frame, page: PageContent): string {
  const { language, words } = frame;
  const links = LINKS.flatMap((name) => {
    const address = frame.links[name];
    return address === undefined ? [] : [<a href={address}>{words.links[name]}</a>];
  });
  const document = (
    <html lang={language} dir={language === 'ar' ? 'rtl' : 'ltr'}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        {!page.isPublic && <meta name="robots" content="noindex" />}
        {page.refreshSeconds && <meta http-equiv="refresh" content={String(page.refreshSeconds)} />}
        <title>{withoutMarks(page.title)}</title>
        <link rel="icon" href={frame.icon} />
        <style>{raw(frame.style)}</style>
      </head>
      <body class={page.kind}>
        <header>
          {frame.logo ? (
            <img src={frame.logo} alt={frame.appName ?? frame.host} />
          ) : (
            <>
              <svg viewBox="0 0 24 24" aria-hidden="true">
                <path d="M3 5h18v12H3zM8 21h8" />
              </svg>
              <bdi>{frame.appName ?? frame.host}</bdi>
            </>
          )}
        </header>
        <main>{page.body}</main>
        {links.length > 0 && <footer>{links}</footer>}
      </body>
    </html>
  );
  return `<!doctype html>${document}`;
}

/** A row of a list. A text is isolated, because a name may be in a script of the other direction. */
export const Fact = ({ name, children }: { name: string; children: Child }) => (
  <div>
    <dt>{name}</dt>
    <dd>{typeof children === 'string' ? <bdi>{children}</bdi> : children}</dd>
  </div>
);
