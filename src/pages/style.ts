/** The style of every page, and the Content-Security-Policy that allows it. */
import { Buffer } from 'node:buffer';
import { hash } from 'node:crypto';
import { type Accent, DEFAULT_ACCENT, inkOn } from './accent.ts';
import type { Picture } from './picture.ts';

/**
 * One card at a fixed top, so that it does not move between pages. There is one kind of box,
 * in three colours. Forms and the confirmation page begin each line at the same edge; the
 * page at the end is centred.
 *
 * Contrast of text is at least 7:1 in both colour schemes (WCAG 2.2, 1.4.6), on a button
 * of the operator's colour at least 4.5:1 (accent.ts). Sizes are in rem, so that the user's
 * own text size applies. Buttons are at least 44 px high (2.5.5). The smallest screen is
 * 320 by 568 px. Decline is as large and as legible as Continue: beside it if both words
 * have room in half a row, otherwise below. Labels are beside their values if the card has
 * room, otherwise above: all in the same way. On a short screen all is closer, and on a very
 * short one smaller. `.whole` is not broken over two lines unless it is longer than one.
 * English sentences are not balanced, which would often divide "sign-in".
 *
 * Animations move things and fade no text, which would be too faint in the middle. A button
 * stays as it was pressed until the provider answers.
 */
const STYLE = `
:root{color-scheme:light dark;--page:#f4f5f7;--card:#fff;--fill:#eef0f4;--text:#101319;--quiet:#424854;--line:#666d79;--rule:#dadde4;--good:#15803d;--on-good:#fff;--bad:#991b1b;--tint:#f9eaea;--note:#fff4d9;--mark:#92400e;--shadow:0 1.5rem 3rem -1.5rem #10131940}
@media (prefers-color-scheme:dark){:root{--page:#0a0b0e;--card:#16181d;--fill:#22252c;--text:#f4f5f7;--quiet:#c3c8d1;--line:#8b92a0;--rule:#363a44;--good:#4ade80;--on-good:#0a0b0e;--bad:#fca5a5;--tint:#2d2226;--note:#2d2513;--mark:#fcd34d;--shadow:inset 0 0 0 1px #ffffff14}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;min-height:100svh;display:flex;flex-direction:column;align-items:center;padding:0 min(1rem,4vw) 1rem;background:radial-gradient(45rem 34rem at 50% -6rem,var(--wash),transparent) var(--page) no-repeat;color:var(--text);font:1.0625rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
header{display:flex;align-items:flex-end;justify-content:center;gap:.5rem;max-width:100%;min-height:clamp(1rem,11svh,7rem);padding:.5rem 0 .75rem;font-size:.9375rem;overflow-wrap:anywhere}
header img{display:block;max-width:min(12rem,100%);height:3rem;object-fit:contain}
svg{flex:none;width:1.5rem;height:1.5rem;fill:none;stroke:currentColor;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
main{container-type:inline-size;width:100%;max-width:25rem;padding:1.5rem min(1.5rem,6vw);border-radius:1.5rem;background:var(--card);box-shadow:var(--shadow);overflow-wrap:anywhere}
.badge{width:4.5rem;height:4.5rem;margin:.5rem 0 1rem;color:var(--quiet)}
.badge circle{fill:var(--fill);stroke:none}
.done{color:var(--on-good)}.done circle{fill:var(--good)}
.failed{color:var(--bad)}.failed circle{fill:var(--tint)}
h1{margin:0;font-size:min(1.75rem,9vw);line-height:1.18;letter-spacing:-.022em;text-wrap:balance}
:is(:lang(ar),:lang(ja),:lang(ko),:lang(zh)) h1{letter-spacing:0}
p{margin:.5rem 0 0;color:var(--quiet);text-wrap:pretty}
.outcome main{text-align:center}.outcome:not(:lang(en)) p{text-wrap:balance}
.whole{display:inline-block;max-width:100%}
html:lang(ko){word-break:keep-all}html:lang(ja){word-break:auto-phrase}:lang(ja) h1{word-break:keep-all;font-size:min(1.75rem,7.75vw)}:lang(ja) :is(.text,.note,.alert,.about){word-break:normal}
.box{margin:1rem 0 0;padding:.75rem 1rem;border-radius:1rem;background:var(--fill);font-size:.9375rem;text-align:start}
.box>:first-child{margin-top:0}
:is(.note,.alert,.note p){color:var(--text)}
.note{display:flex;gap:.75rem;background:var(--note)}
.note p{margin:0}
.note svg{color:var(--mark)}
.alert{background:var(--tint)}
.alert strong{display:block;color:var(--bad)}
dl{margin:0}
dl>div{padding:.375rem 0}
dl>div+div,.compare+*{border-top:1px solid var(--rule)}
dt{color:var(--quiet);overflow-wrap:break-word}
dd{margin:0;font-weight:600}
@container (min-width:14rem){dl>div{display:flex;justify-content:space-between;gap:1rem}dt{flex:none;max-width:50%}dd{text-align:end}}
.compare{padding-bottom:.5rem;text-align:center;text-wrap:balance}
.compare+*{padding-top:.375rem}
.code{font-family:ui-monospace,"SF Mono",Menlo,Consolas,monospace;font-weight:600;letter-spacing:.06em}
.compare bdi{display:block;color:var(--text);font-size:min(2.25rem,10vw);font-weight:700;line-height:1.2}
.link{display:block;user-select:all;-webkit-user-select:all;color:var(--text);font-weight:600}
.link span{white-space:nowrap}
form{margin-top:1.5rem}
label{display:block;margin-bottom:.5rem;font-size:.9375rem;font-weight:600}
small{display:block;margin-top:.5rem;font-size:.875rem;color:var(--quiet);text-wrap:balance}
input,button{width:100%;border:1px solid var(--line);border-radius:.875rem;font:inherit}
input{min-height:max(4rem,44px);padding:.25rem;background:var(--card);color:var(--text);font-size:max(min(1.75rem,6.4vw),17px);text-align:center;text-transform:uppercase}
input::placeholder{color:var(--line);opacity:1;font-weight:400}
[aria-invalid]{border-color:var(--bad)}
button{min-height:max(3.25rem,44px);margin-top:1rem;font-size:min(1.0625rem,10vw);padding:.5rem;border-color:currentColor;background:var(--accent);color:var(--on-accent);font-weight:600;overflow-wrap:normal;cursor:pointer}
button:active{box-shadow:inset 0 0 0 9rem var(--press)}
.tinted{--press:#8884;border-color:transparent;background:var(--fill);color:var(--text)}
:focus-visible{outline:2px solid var(--text);outline-offset:2px}
input:focus-visible{outline-offset:-1px;box-shadow:0 0 0 .25rem var(--wash)}
.choice{display:flex;flex-wrap:wrap;gap:.75rem;margin-top:1rem}
.choice button{flex:1 1 calc(50% - .375rem);width:auto;margin:0;padding-inline:.25rem}
.about{margin-top:1.5rem;padding-top:1rem;border-top:1px solid var(--rule);font-size:.9375rem}
footer{display:flex;flex-wrap:wrap;justify-content:center;column-gap:1rem;max-width:100%;padding-top:.5rem;font-size:.875rem;overflow-wrap:anywhere}
footer a{max-width:100%;display:inline-flex;align-items:center;min-width:44px;min-height:44px;color:var(--text)}
@media (max-height:44rem){
header{min-height:0;padding-block:.375rem}
body{padding-bottom:.5rem}
main{padding-block:1rem}
.box{padding-block:.5rem}
dl>div{padding-block:.25rem}
.confirm main{line-height:1.4}
.confirm .box{margin-top:.5rem}
.confirm .choice{margin-top:.75rem}
.confirm .compare{padding-bottom:.25rem}
}
@media (max-height:40rem){
.badge{width:3.5rem;height:3.5rem;margin:0 0 .75rem}
.confirm main{line-height:1.35}
.confirm .text{font-size:.9375rem}
.confirm dl>div{padding-block:.0625rem}
.confirm .box{padding-inline:.75rem;font-size:.875rem}
}
@media (forced-colors:active){main,.box{border:1px solid}.badge{forced-color-adjust:none}}
@media (prefers-reduced-motion:no-preference){
@view-transition{navigation:auto}
@keyframes rise{from{transform:translateY(1rem)}}
@keyframes pop{from{transform:scale(.5)}}
@keyframes draw{from{stroke-dashoffset:1}}
main{animation:rise .32s cubic-bezier(.2,.8,.2,1)}
.badge{animation:pop .4s cubic-bezier(.3,1.6,.6,1)}
.done path{stroke-dasharray:1;animation:draw .3s .2s backwards}
button{transition:box-shadow .4s 8s}
button:active{transition:none}
}
`.trim();

/** The style with the operator's colour in it, also as a wash of 16 % behind the card. */
export function createStyle({ light, dark }: Accent = DEFAULT_ACCENT): string {
  // A pressed button is further from its text: darker below white, lighter below black.
  const colours = (accent: string) => {
    const ink = inkOn(accent);
    const press = ink === '#ffffff' ? '#0004' : '#fff6';
    return `:root{--accent:${accent};--on-accent:${ink};--press:${press};--wash:${accent}29}`;
  };
  return `${STYLE}\n${colours(light)}\n@media (prefers-color-scheme:dark){${colours(dark)}}`;
}

/** The favicon, if the operator has no logo. */
export function createIcon({ light }: Accent = DEFAULT_ACCENT): Picture {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="${light}"/><path d="m9 16.5 5 5 9.5-10" fill="none" stroke="${inkOn(light)}" stroke-width="3.5" stroke-linecap="round" stroke-linejoin="round"/></svg>`;
  return { mediaType: 'image/svg+xml', base64: Buffer.from(svg).toString('base64') };
}

/**
 * Allows only the style, by its hash, and the relay's own pictures.
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
