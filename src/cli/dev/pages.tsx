/** @jsxImportSource hono/jsx */
/** The pages of the dev provider: the sign-in, and the list of scenarios. No script, nothing from elsewhere. */
import { raw } from 'hono/html';
import type { Child } from 'hono/jsx';
import { describeScenario, SCENARIO_NAMES, type ScenarioName } from './scenarios.ts';
import type { DevSignIn, SignIns } from './sign-ins.ts';

const STYLE = `
:root{color-scheme:light dark;--page:#eef2ff;--card:#fff;--text:#1e1b4b;--quiet:#4338ca;--line:#6366f1;--rule:#c7d2fe}
@media (prefers-color-scheme:dark){:root{--page:#0f0d24;--card:#1e1b4b;--text:#eef2ff;--quiet:#c7d2fe;--line:#818cf8;--rule:#3730a3}}
*{box-sizing:border-box}
body{margin:0;padding:min(1rem,4vw);background:var(--page);color:var(--text);font:1.0625rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:26rem;margin:min(2rem,4vh) auto;padding:1.5rem min(1.5rem,5vw);border-radius:1rem;background:var(--card)}
main.wide{max-width:62rem}
h1{margin:0 0 .5rem;font-size:1.5rem;line-height:1.25}
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
li{margin:.5rem 0}
li button{text-align:start;line-height:1.3;border-width:1px}
li span{display:block;font-weight:400;font-size:.9375rem}
code,pre{font-family:ui-monospace,"SF Mono",Menlo,Consolas,monospace;font-size:.9375rem}
pre{margin:0 0 .75rem;padding:.75rem;border:1px solid var(--rule);border-radius:.5rem;white-space:pre-wrap;overflow-wrap:anywhere}
table{width:100%;border-collapse:collapse}
th,td{padding:.5rem .75rem .5rem 0;border-top:1px solid var(--rule);text-align:start;vertical-align:top}
thead th{border:0;font-size:.9375rem}
tbody th{white-space:nowrap;font-weight:600}
td{overflow-wrap:anywhere}
td form{margin:0}
td button{width:auto;min-height:44px;padding:.25rem .75rem;border-width:1px;white-space:nowrap}
:focus-visible{outline:3px solid var(--line);outline-offset:2px}
@media (max-width:40rem){table.stack :is(thead){position:absolute;left:-99rem}table.stack :is(tbody,tr,th,td){display:block;border:0;padding:.125rem 0}table.stack tr{padding:.75rem 0;border-top:1px solid var(--rule)}}
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

/** The user names that end a sign-in in another way, apart from the two buttons. */
const CHOICES = SCENARIO_NAMES.filter(
  (name) => name !== 'approve' && name !== 'deny' && !describeScenario(name).atStart,
);

export function authorizePage(deviceName: string | undefined): string {
  return render(
    'Dev provider',
    <>
      <h1>Dev provider</h1>
      <p>
        Sign in to let <b>{deviceName ?? 'your app'}</b> know your name. Any name will do. The name
        of an ending below, such as <code>never</code>, ends the sign-in in that way.
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
              <button type="submit" name="ending" value={name}>
                {name}
                <span>{withCode(describeScenario(name).does)}</span>
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

export interface List {
  readonly relayUrl: string;
  readonly providerUrl: string;
  readonly services: readonly string[];
  readonly signIns: SignIns;
}

/** Sign-ins that the page shows. */
const SHOWN_SIGN_INS = 10;

export function listPage({ relayUrl, providerUrl, services, signIns }: List): string {
  const [service = ''] = services;
  return render(
    'Dev relay',
    <>
      <h1>Sign-in Relay for development</h1>
      <p>
        The relay is at <code>{relayUrl}</code> and offers{' '}
        {withCode(services.map((name) => `\`${name}\``).join(', '))}. A device starts with
      </p>
      <pre>{`curl -X POST ${relayUrl}/auth/start -d '{"service":"${service}"}'`}</pre>
      <p>
        <a href="/tv">A television</a> to try it with, in this browser: arrow keys, Enter, Escape.
      </p>
      <h2>How a sign-in can end</h2>
      <p>
        Choose on the provider's page, type the name there as the user name, plan it here for the
        next sign-in of your app, or follow its link to try it in this browser, without an app.
        {signIns.planned.length > 0 &&
          ` Planned: ${signIns.planned.map(({ scenario }) => scenario).join(', ')}.`}
      </p>
      <table class="stack">
        <thead>
          <tr>
            <th>Ending</th>
            <th>What happens</th>
            <th>What the device gets</th>
            <th>Next sign-in</th>
          </tr>
        </thead>
        <tbody>{SCENARIO_NAMES.map((name) => row(name))}</tbody>
      </table>
      <h2>In your app's tests</h2>
      <p>
        Each request plans one sign-in, in the order in which they start. With <code>auto</code> the
        dev relay opens the link too, as a user would.
      </p>
      <pre>{`curl ${providerUrl}/next -d '{"scenario":"deny","auto":true}'`}</pre>
      {latestTable(signIns.latest(SHOWN_SIGN_INS))}
    </>,
    'wide',
  );
}

function latestTable(latest: readonly DevSignIn[]): Child {
  if (latest.length === 0) return undefined;
  return (
    <>
      <h2>The latest sign-ins</h2>
      <table class="stack">
        <tbody>
          {latest.map(({ number, deviceName, plan, state }) => (
            <tr>
              <th>#{number}</th>
              <td>{deviceName ?? 'a device'}</td>
              <td>{plan?.scenario ?? ''}</td>
              <td>{state}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function row(name: ScenarioName): Child {
  const { does, device } = describeScenario(name);
  return (
    <tr>
      <th scope="row">
        <a href={`/try/${name}`}>{name}</a>
      </th>
      <td>{withCode(does)}</td>
      <td>{withCode(device)}</td>
      <td>
        <form method="post" action="/next">
          <button
            type="submit"
            name="scenario"
            value={name}
            aria-label={`Plan ${name} for the next sign-in`}
          >
            Plan
          </button>
        </form>
      </td>
    </tr>
  );
}

/** Text between backticks is code. */
function withCode(text: string): Child {
  return text.split('`').map((part, index) => (index % 2 === 1 ? <code>{part}</code> : part));
}
