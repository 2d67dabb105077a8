/** The style of every page, and the Content-Security-Policy that allows it. */
import { hash } from 'node:crypto';

/**
 * Contrast is at least 7:1 in both colour schemes (WCAG 2.2, 1.4.6). Sizes are in rem, so
 * that the user's own text size applies. Buttons are at least 44 px high (2.5.5). The
 * smallest screen is 320 by 568 px. Continue and Decline look the same, because neither
 * is to be preferred.
 */
export const STYLE = `
:root{color-scheme:light dark;--page:#f3f4f6;--card:#fff;--text:#111827;--quiet:#374151;--line:#6b7280;--rule:#d1d5db;--good:#166534;--bad:#991b1b}
@media (prefers-color-scheme:dark){:root{--page:#0b0f14;--card:#161b22;--text:#f3f4f6;--quiet:#cbd5e1;--line:#94a3b8;--rule:#374151;--good:#86efac;--bad:#fca5a5}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;min-height:100svh;display:grid;place-items:center;padding:min(1rem,4vw);background:var(--page);color:var(--text);font:1.0625rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{width:100%;max-width:26rem;padding:2rem min(1.5rem,6vw);border-radius:1rem;background:var(--card);text-align:center;overflow-wrap:anywhere}
svg{width:3.5rem;height:3.5rem;fill:none;stroke:currentColor;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
.done{color:var(--good)}.failed{color:var(--bad)}.stopped{color:var(--quiet)}
h1{margin:.75rem 0 .5rem;font-size:min(1.5rem,9vw);line-height:1.25}
p{margin:0;color:var(--quiet)}
h1,p,small{text-wrap:balance}
:lang(ko){word-break:keep-all}:lang(ja){word-break:auto-phrase}
main.ask{padding-block:1.25rem;line-height:1.4}
.ask h1{margin-top:0}
.ask :is(p,dl,form){margin-block:.625rem 0}
strong{display:block;color:var(--text)}
[role=alert]{padding:.75rem;border:2px solid var(--bad);border-radius:.5rem;text-align:start;text-wrap:wrap}
[role=alert] strong{color:var(--bad)}
label{display:block;margin-bottom:.25rem;font-weight:600}
small{display:block;margin-top:.25rem;font-size:.9375rem;color:var(--quiet)}
input,button{width:100%;min-height:max(3rem,44px);border-radius:.5rem;font:inherit}
input,.code{font-family:ui-monospace,"SF Mono",Menlo,Consolas,monospace;font-weight:600;letter-spacing:.08em}
input{padding:.25rem .5rem;border:2px solid var(--line);background:var(--card);color:var(--text);font-size:max(1.375rem,17px);text-align:center;text-transform:uppercase}
button{margin-top:.75rem;padding:.5rem;border:2px solid var(--text);background:var(--text);color:var(--card);font-weight:600;overflow-wrap:break-word;cursor:pointer}
:focus-visible{outline:3px solid var(--text);outline-offset:3px}
.choice{display:flex;flex-wrap:wrap;gap:.5rem}
.choice button{flex:1 1 7rem;width:auto;margin:0;font-size:1rem}
dl>div{display:flex;flex-wrap:wrap;align-items:baseline;column-gap:1rem;padding:.25rem 0;border-bottom:1px solid var(--rule)}
dl>div:last-child{border:0}
dt{text-align:start;color:var(--quiet);font-size:.9375rem}
dd{margin-block:0;margin-inline:auto 0;font-weight:600;text-align:end}
.warning{color:var(--text);font-weight:600}
.aside{padding:.5rem;border:2px solid var(--line);border-radius:.5rem}
.link{display:block;user-select:all;-webkit-user-select:all;color:var(--text);font-weight:600}
@media (forced-colors:active){main{border:1px solid}}
`.trim();

/**
 * Allows the style above, by its hash, and nothing else. `formAction` is absent for a page
 * whose form redirects to a provider: browsers apply it to redirects too, and the relay
 * does not know where a provider redirects. Such a form has no action attribute that
 * could be changed.
 */
export function contentSecurityPolicy(formAction?: "'none'" | "'self'"): string {
  return [
    "default-src 'none'",
    `style-src 'sha256-${hash('sha256', STYLE, 'base64')}'`,
    "base-uri 'none'",
    ...(formAction === undefined ? [] : [`form-action ${formAction}`]),
    "frame-ancestors 'none'",
  ].join('; ');
}
