/** @jsxImportSource hono/jsx */
/** The pages of the dev provider: the sign-in, and the list of endings. No script, nothing from elsewhere. */
import { raw } from 'hono/html';
import type { Child } from 'hono/jsx';
import { ENDING_NAMES, ENDINGS, type EndingName } from './endings.ts';
import type { DevRelay } from './relay.ts';

const STYLE = `
:root{color-scheme:light dark;--page:#eef2ff;--card:#fff;--text:#1e1b4b;--quiet:#4338ca;--line:#6366f1;--rule:#c7d2fe}
@media (prefers-color-scheme:dark){:root{--page:#0f0d24;--card:#1e1b4b;--text:#eef2ff;--quiet:#c7d2fe;--line:#818cf8;--rule:#3730a3}}
*{box-sizing:border-box}
body{margin:0;padding:min(1rem,4vw);background:var(--page);color:var(--text);font:1.0625rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:26rem;margin:min(2rem,4vh) auto;padding:1.5rem min(1.5rem,5vw);border-radius:1rem;background:var(--card)}
main.wide{max-width:54rem}
h1{margin:0 0 .5rem;font-size:1.75rem;line-height:1.2;letter-spacing:-.02em}
h2{margin:1.5rem 0 .5rem;font-size:1.125rem}
p{margin:0 0 .75rem}
a{color:var(--quiet)}
label{display:block;font-weight:600}
input,button{width:100%;min-height:max(3rem,44px);padding:.5rem .75rem;border:2px solid var(--line);border-radius:.5rem;background:none;color:inherit;font:inherit}
input{margin-bottom:.75rem}
button{cursor:pointer;font-weight:600}
button.main{background:var(--line);border-color:var(--line);color:#fff;background:#4338ca}
.pair{display:flex;gap:.5rem}
ul{list-style:none;margin:0;padding:0}
li{display:flex;align-items:start;gap:.5rem;border-top:1px solid var(--rule)}
.line{flex:1;min-width:0;padding:.5rem 0;border:0;text-align:start;white-space:nowrap;overflow:hidden;text-overflow:ellipsis;font-weight:600}
.line :is(span,p){margin:0;font-weight:400;font-size:.9375rem}
.line:focus-visible,summary:focus-visible{outline-offset:-3px}
summary{line-height:1.75rem;cursor:pointer;overflow:hidden;text-overflow:ellipsis}
[open],[open] summary{white-space:normal}
li form button{width:auto;min-height:44px;padding:.25rem .5rem;border:0;color:var(--quiet);font-weight:400;text-decoration:underline}
code{font-family:ui-monospace,"SF Mono",Menlo,Consolas,monospace;font-size:.9375rem}
table{width:100%;border-collapse:collapse}
th,td{padding:.5rem .75rem .5rem 0;border-top:1px solid var(--rule);text-align:start;vertical-align:top}
tbody th{white-space:nowrap;font-weight:600}
td{overflow-wrap:anywhere}
:focus-visible{outline:3px solid var(--line);outline-offset:2px}
`.trim();

function render(title: string, body: Child, className?: string): string {
  const document = (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <link rel="icon" href="data:," />
        <title>{title}</title>
        <style>{raw(STYLE)}</style>
      </head>
      <body>
        <main class={className}>{body}</main>
      </body>
    </html>
  );
  return `<!doctype html>${document}`;
}

/** The endings without a button of their own. */
const CHOICES = ENDING_NAMES.filter(
  (name) => name !== 'approve' && name !== 'deny' && !ENDINGS[name].atStart,
);

export function authorizePage(deviceName: string | undefined): string {
  return render(
    'Dev provider',
    <>
      <h1>Dev provider</h1>
      <p>
        Sign in to let <b>{deviceName ?? 'your app'}</b> know your name. Any name will do.
      </p>
      <form method="post">
        <label for="name">Name</label>
        <input id="name" name="name" value="Ada" autocomplete="off" autocapitalize="none" />
        <div class="pair">
          <button type="submit" class="main" name="ending" value="">
            Sign in
          </button>
          <button type="submit" name="ending" value="deny">
            Cancel
          </button>
        </div>
        <h2>Or end this sign-in in another way</h2>
        <ul>
          {CHOICES.map((name) => (
            <li>
              <button type="submit" class="line" name="ending" value={name}>
                {name} <span>{withCode(ENDINGS[name].does)}</span>
              </button>
            </li>
          ))}
        </ul>
      </form>
    </>,
  );
}

export function messagePage(heading: string, text: string): string {
  return render(
    heading,
    <>
      <h1>{heading}</h1>
      <p>{text}</p>
    </>,
  );
}

/** How many sign-ins the page shows. */
const SHOWN_SIGN_INS = 10;

export function listPage({ baseUrl, options, signIns }: DevRelay): string {
  const { services } = options;
  const latest = signIns.all.slice(-SHOWN_SIGN_INS).reverse();
  return render(
    'Dev relay',
    <>
      <h1>Sign-in Relay for development</h1>
      <p>
        The relay is at <code>{baseUrl}</code> and offers{' '}
        {withCode(services.map((name) => `\`${name}\``).join(', '))}.
      </p>
      <p>
        <a href="/tv">A television</a> to try it with, in this browser: arrow keys, Enter, Escape.
      </p>
      <h2>How a sign-in can end</h2>
      <p>
        Choose on the provider's page, or plan it here for the next sign-in of your app, or of the
        television.
        {signIns.planned.length > 0 &&
          ` Planned: ${signIns.planned.map(({ ending }) => ending).join(', ')}.`}
      </p>
      <ul>{ENDING_NAMES.map((name) => line(name))}</ul>
      {latest.length > 0 && <h2>The latest sign-ins</h2>}
      <table>
        <tbody>
          {latest.map(({ number, deviceName, plan, latest: event }) => (
            <tr>
              <th>#{number}</th>
              <td>{deviceName ?? 'a device'}</td>
              <td>{plan?.ending ?? ''}</td>
              <td>{event}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>,
    'wide',
  );
}

/** A row that opens to show the whole text. */
function line(name: EndingName): Child {
  const { does, device } = ENDINGS[name];
  return (
    <li>
      <details class="line">
        <summary>
          {name} <span>{withCode(does)}</span>
        </summary>
        <p>The device gets: {withCode(device)}.</p>
      </details>
      <form method="post" action="/next">
        <button
          type="submit"
          name="ending"
          value={name}
          aria-label={`Plan ${name} for the next sign-in`}
        >
          Plan
        </button>
      </form>
    </li>
  );
}

/** Text between backticks is code. */
function withCode(text: string): Child {
  return text.split('`').map((part, index) => (index % 2 === 1 ? <code>{part}</code> : part));
}
