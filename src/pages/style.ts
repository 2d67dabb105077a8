/** The style of every page, and the Content-Security-Policy that allows it. */
import { Buffer } from 'node:buffer';
import { hash } from 'node:crypto';
import { type Accent, DEFAULT_ACCENT, inkOn } from './accent.ts';
import type { Picture } from './picture.ts';

/**
 * Contrast of text is at least 7:1 in both colour schemes (WCAG 2.2, 1.4.6), on a button
 * of the operator's colour at least 4.5:1 (1.4.3). Sizes are in rem, so that the user's
 * own text size applies. Buttons are at least 44 px high (2.5.5). The smallest screen is
 * 320 by 568 px. Decline is as large and as legible as Continue: beside it if both words
 * have room in half a row, otherwise below. Of a list, labels are beside values if the card
 * has room, otherwise above: all in the same way. The lines of `.dense` are closer on a short
 * screen. `.whole` is not broken over two lines unless it is longer than one. The sentence
 * below a heading is not balanced, which would often divide "sign-in".
 */
const STYLE = `
:root{color-scheme:light dark;--page:#f3f4f6;--card:#fff;--text:#111827;--quiet:#374151;--line:#6b7280;--rule:#d1d5db;--good:#166534;--bad:#991b1b;--note:#fef3c7;--mark:#92400e}
@media (prefers-color-scheme:dark){:root{--page:#0b0f14;--card:#161b22;--text:#f3f4f6;--quiet:#cbd5e1;--line:#94a3b8;--rule:#374151;--good:#86efac;--bad:#fca5a5;--note:#2e2712;--mark:#fcd34d}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;min-height:100svh;display:flex;flex-direction:column;align-items:center;justify-content:center;padding:min(1rem,4vw);background:var(--page);color:var(--text);font:1.0625rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{container-type:inline-size;width:100%;max-width:26rem;padding:2rem min(1.5rem,6vw);border-radius:1rem;background:linear-gradient(var(--accent) .25rem,transparent 0) var(--card);text-align:center;overflow-wrap:anywhere}
svg{width:3.5rem;height:3.5rem;margin-bottom:.5rem;fill:none;stroke:currentColor;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
.logo{display:block;max-width:min(12rem,100%);height:3rem;object-fit:contain;margin:0 auto .75rem}
.done{color:var(--good)}.failed{color:var(--bad)}.stopped{color:var(--quiet)}
h1{margin:0 0 .5rem;font-size:min(1.5rem,9vw);line-height:1.25}
p{margin:0;color:var(--quiet)}
p+p{margin-top:.625rem}
h1,p,label,small{text-wrap:balance}
h1+p{text-wrap:pretty}
.whole{display:inline-block;max-width:100%}
html:lang(ko){word-break:keep-all}html:lang(ja){word-break:auto-phrase}:lang(ja) h1{word-break:keep-all}:lang(ja) :is(.text,.note,.about,.aside){word-break:normal}
strong{display:block;color:var(--text)}
[role=alert],.text,.aside,:is(.note,.about) p{text-align:start;text-wrap:pretty}
[role=alert]{padding:.75rem;border:2px solid var(--bad);border-radius:.5rem}
[role=alert] strong{color:var(--bad)}
form{margin-top:1.25rem}
label{display:block;margin-bottom:.5rem;font-weight:600}
small{display:block;margin-top:.5rem;font-size:.9375rem;color:var(--quiet)}
input,button{width:100%;min-height:max(3rem,44px);border-radius:.5rem;font:inherit}
input,.code{font-family:ui-monospace,"SF Mono",Menlo,Consolas,monospace;font-weight:600;letter-spacing:.08em}
input{padding:.25rem .5rem;border:2px solid var(--line);background:var(--card);color:var(--text);font-size:max(min(1.75rem,8vw),17px);letter-spacing:.12em;text-align:center;text-transform:uppercase}
input::placeholder{color:var(--line);opacity:1;font-weight:400}
button{margin-top:1rem;padding:.5rem;border:2px solid var(--accent);background:var(--accent);color:var(--on-accent);font-weight:600;overflow-wrap:normal;cursor:pointer}
button.outlined{border-color:var(--text);background:transparent;color:var(--text)}
:focus-visible{outline:3px solid var(--text);outline-offset:2px}
.about{margin-top:1.5rem;padding-top:1.25rem;border-top:1px solid var(--rule);font-size:1rem}
dl{margin:1rem 0 0;font-size:1rem;text-align:start}
dl>div{padding:.375rem 0;border-bottom:1px solid var(--rule)}
dt,dd{line-height:1.5rem}
dt{color:var(--quiet);font-size:.875rem;overflow-wrap:break-word}
dd{margin:0;font-weight:600}
@container (min-width:14rem){dl{display:grid;grid-template-columns:fit-content(50%) 1fr}dl>div{display:contents}dt,dd{padding:.375rem 0;border-bottom:1px solid var(--rule)}dt{padding-inline-end:.75rem}}
dl>:last-child,dl>:last-child>*{border:0}
.compare{margin-top:1rem;padding:.5rem .5rem .375rem;border-radius:.75rem;background:var(--page);font-size:1rem}
.compare .code{display:block;color:var(--text);font-size:min(2.25rem,10vw);font-weight:700;line-height:1.25;white-space:nowrap}.compare .host{white-space:normal;overflow-wrap:anywhere;letter-spacing:0}
.text,.aside{margin-top:1rem}
.note{display:flex;gap:.5rem;margin-top:1rem;padding:.625rem;border-inline-start:.25rem solid var(--mark);border-radius:.5rem;background:var(--note)}
.note p{flex:1;font-size:1rem;color:var(--text)}
.note svg{flex:none;width:1.5rem;height:1.5rem;margin:0;color:var(--mark)}
.aside{padding:.5rem;border:2px solid var(--line);border-radius:.5rem}
.link{display:block;user-select:all;-webkit-user-select:all;color:var(--text);font-weight:600}
.link span{white-space:nowrap}
.choice{display:flex;flex-wrap:wrap;gap:.5rem}
.choice button{flex:1 1 calc(50% - .25rem);width:auto;margin:0;padding-inline:.25rem;font-size:1rem}
footer{max-width:100%;overflow-wrap:anywhere;text-align:center;display:flex;flex-wrap:wrap;justify-content:center;column-gap:1rem;padding-top:.25rem;font-size:.9375rem}
footer a{max-width:100%;display:inline-flex;align-items:center;min-width:44px;min-height:44px;color:var(--text)}
@media (max-height:44rem){
.dense{padding-block:1rem .875rem;line-height:1.35}
.dense :is(.compare,dl,.text,.note,.aside,form){margin-top:.5rem}
.dense .compare{padding-block:.375rem .25rem}
.dense .note{padding-block:.5rem}
.dense :is(dt,dd){padding-block:.0625rem;line-height:1.25rem}
.dense .text{font-size:1rem}
}
@media (forced-colors:active){main,.compare{border:1px solid}}
`.trim();

/** The style with the operator's colour in it. */
export function createStyle({ light, dark }: Accent = DEFAULT_ACCENT): string {
  const colours = (accent: string) => `:root{--accent:${accent};--on-accent:${inkOn(accent)}}`;
  return `${STYLE}\n${colours(light)}\n@media (prefers-color-scheme:dark){${colours(dark)}}`;
}

/** The favicon, if the operator has no logo. */
export function createIcon({ light }: Accent = DEFAULT_ACCENT): Picture {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="${light}"/><path d="m9 16.5 5 5 9.5-10" fill="none" stroke="${inkOn(light)}" stroke-width="3.5" stroke-linecap="round" stroke-linejoin="round"/></svg>`;
  return { mediaType: 'image/svg+xml', base64: Buffer.from(svg).toString('base64') };
}

/**
 * Allows the style, by its hash, and the relay's own pictures, and nothing else.
 * `formAction` is absent for a page whose form redirects to a provider: browsers apply it
 * to redirects too, and the relay does not know where a provider redirects. Such a form
 * has no action attribute that could be changed.
 */
export function contentSecurityPolicy(style: string, formAction?: "'none'" | "'self'"): string {
  return [
    "default-src 'none'",
    `style-src 'sha256-${hash('sha256', style, 'base64')}'`,
    // The logo and the favicon. Not their URLs: a relay may have several host names.
    "img-src 'self'",
    "base-uri 'none'",
    ...(formAction === undefined ? [] : [`form-action ${formAction}`]),
    "frame-ancestors 'none'",
  ].join('; ');
}
