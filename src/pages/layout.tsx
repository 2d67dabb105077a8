/** @jsxImportSource hono/jsx */
/**
 * The frame of every page: one card, no script, nothing from elsewhere. The
 * person sees it for ten seconds on a phone and must trust it.
 */
import { hash } from 'node:crypto';
import { raw } from 'hono/html';
import type { Child } from 'hono/jsx';

/**
 * Contrast is at least 7:1 in both schemes (WCAG 2.2, 1.4.6); sizes are in rem
 * so that the person's own text size counts; the smallest screen is 320 px.
 */
const STYLE = `
:root{color-scheme:light dark;--page:#f3f4f6;--card:#fff;--text:#111827;--quiet:#374151;--good:#166534;--bad:#991b1b}
@media (prefers-color-scheme:dark){:root{--page:#0b0f14;--card:#161b22;--text:#f3f4f6;--quiet:#cbd5e1;--good:#86efac;--bad:#fca5a5}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;min-height:100svh;display:grid;place-items:center;padding:min(1rem,4vw);background:var(--page);color:var(--text);font:1.0625rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{width:100%;max-width:26rem;padding:2rem min(1.5rem,6vw);border-radius:1rem;background:var(--card);text-align:center;overflow-wrap:anywhere}
svg{width:3.5rem;height:3.5rem;fill:none;stroke:currentColor;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
.good{color:var(--good)}.bad{color:var(--bad)}
h1{margin:.75rem 0 .5rem;font-size:min(1.5rem,9vw);line-height:1.25}
p{margin:0;color:var(--quiet)}
@media (forced-colors:active){main{border:1px solid}}
`.trim();

/** Allows the one style above, by its hash, and nothing else at all. */
export const PAGE_CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', STYLE, 'base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** A whole document, as text. Everything in it is escaped by the JSX but the style. */
export function renderPage({ title, body }: { title: string; body: Child }): string {
  const document = (
    <html lang="en" dir="ltr">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>{title}</title>
        <style>{raw(STYLE)}</style>
      </head>
      <body>
        <main>{body}</main>
      </body>
    </html>
  );
  return `<!doctype html>${document}`;
}
