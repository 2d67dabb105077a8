/** @jsxImportSource hono/jsx */
/**
 * The admin page. It is rendered here, and its script only fetches it again every two seconds.
 * It shows no token, code, state or client address.
 */
import { hash } from 'node:crypto';
import { hostname } from 'node:os';
import { raw } from 'hono/html';
import type { ServiceState } from '../service.ts';
import { VERSION } from '../version.ts';
import { type Counts, type Facts, ProviderCounts } from './counts.ts';
import {
  type HourlyCounts,
  MINUTES,
  type Recent,
  type RecentFailure,
  type Step,
} from './recent.ts';

const REFRESH_MS = 2_000;

/** A page that cannot refresh says that its numbers are old. */
const SCRIPT = `
const main = document.querySelector('main');
async function refresh() {
  try {
    const response = await fetch('now', { cache: 'no-store' });
    if (!response.ok) throw new Error();
    const now = await response.text();
    // What an operator selects to copy would be lost.
    if (getSelection().isCollapsed) main.innerHTML = now;
    document.body.className = '';
  } catch {
    document.body.className = 'stale';
  }
  setTimeout(refresh, ${REFRESH_MS});
}
setTimeout(refresh, ${REFRESH_MS});
`;

const STYLE = `
:root{color-scheme:light dark;--page:#f4f5f7;--card:#fff;--text:#101319;--quiet:#424854;--rule:#dadde4;--good:#15803d;--user:#a16207;--bad:#b91c1c;--expired:#6b7280}
@media (prefers-color-scheme:dark){:root{--page:#0a0b0e;--card:#16181d;--text:#f4f5f7;--quiet:#c3c8d1;--rule:#363a44;--good:#4ade80;--user:#facc15;--bad:#f87171;--expired:#9ca3af}}
*{box-sizing:border-box}
body{margin:0;padding:1rem;background:var(--page);color:var(--text);font:.9375rem/1.4 system-ui,sans-serif}
main{display:grid;gap:1rem;max-width:70rem;margin:auto;grid-template-columns:minmax(0,1fr)}
header,section{padding:1.25rem;border-radius:1rem;background:var(--card);overflow-x:auto}
h1,h2{margin:0 0 .75rem;line-height:1.2;letter-spacing:-.015em}
h1{display:inline;margin-inline-end:.75rem;font-size:1.75rem}
h2{font-size:1.25rem}
p{margin:.25rem 0}
table{width:100%;border-collapse:collapse}
th,td{padding:.25rem .5rem;border-bottom:1px solid var(--rule);text-align:end;font-variant-numeric:tabular-nums;vertical-align:top}
th{color:var(--quiet);font-weight:600}
th:first-child,td:first-child,#failures :is(th,td){text-align:start}
svg{display:block;width:100%}
figure{margin:0 0 .75rem}
.ends{display:flex;justify-content:space-between;font-size:.8125rem}
.good{fill:var(--good);color:var(--good)}.user{fill:var(--user);color:var(--user)}.bad{fill:var(--bad);color:var(--bad)}.expired{fill:var(--expired);color:var(--expired)}
p>span{forced-color-adjust:none;display:inline-block;margin-inline-end:.75rem}
.plot{border-bottom:1px solid var(--rule)}
.quiet{color:var(--quiet)}
#failures :is(th,td):nth-child(-n+5){white-space:nowrap}
.figures dd{margin:0}
.figures{display:flex;flex-wrap:wrap;gap:.5rem 3rem;margin:1rem 0 0}
.figures dd:first-of-type{margin:0;font-size:2.25rem;line-height:1.2;font-weight:700;letter-spacing:-.02em;font-variant-numeric:tabular-nums}
#failures td,td:first-child,figcaption{overflow-wrap:anywhere}
@media (max-width:40rem){
body{padding:.5rem}
thead{display:none}
table,tbody,tr,td{display:block}
tr{padding:.5rem 0;border-bottom:1px solid var(--rule)}
tr:last-child{border:0}
td{display:flex;justify-content:space-between;gap:1rem;padding:.125rem 0;border:0}
td:first-child{font-weight:600}
td:not(:first-child)::before{content:attr(data-column);color:var(--quiet)}
#failures td:last-child{display:block;text-align:start}
#failures td:last-child::before{content:none}
}
.stale main{opacity:.5}.stale::before{content:'The relay does not answer. These numbers are old.';display:block;padding:.5rem;color:var(--bad);font-weight:600}
`;

export const PAGE_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Content-Security-Policy': [
    "default-src 'none'",
    `style-src 'sha256-${hash('sha256', STYLE, 'base64')}'`,
    `script-src 'sha256-${hash('sha256', SCRIPT, 'base64')}'`,
    "connect-src 'self'",
    // The empty icon, without which a browser requests one.
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
} as const;

export interface Status {
  readonly facts: Facts;
  /** Since the start. */
  readonly counts: Counts;
  readonly recent: Recent;
  readonly state: ServiceState;
}

export function renderWholePage(status: Status): string {
  const document = (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>Sign-in Relay</title>
        <link rel="icon" href="data:," />
        <style>{raw(STYLE)}</style>
      </head>
      <body>
        <main>{raw(renderNow(status))}</main>
        <script>{raw(SCRIPT)}</script>
      </body>
    </html>
  );
  return `<!doctype html>${document}`;
}

/** What the script fetches. */
export function renderNow({ facts, counts, recent, state }: Status): string {
  const { services, isShared } = facts;
  const { readiness, liveSessions } = state;
  const nowMs = facts.clock.now();
  const hour = recent.readHour();
  const failures = recent.readFailures();
  return String(
    <>
      <header>
        <h1>Sign-in Relay</h1>
        <span class={readiness.status === 'ready' ? 'good' : 'bad'}>
          {readiness.status === 'ready' ? 'ready' : readiness.reason}
        </span>
        <p class="quiet">
          {VERSION} on {facts.runtime} at {hostname()}, up{' '}
          {durationOf(Math.round((nowMs - facts.startedAtMs) / 1_000))}. It is {clockOf(nowMs)} UTC.
        </p>
        <p class="quiet">The last hour:</p>
        {figures(hour, services)}
      </header>
      <section>
        <h2>Last failures</h2>
        {failures.length === 0 ? (
          <p class="quiet">None since the start.</p>
        ) : (
          failureTable(failures)
        )}
      </section>
      <section>
        <h2>Sign-ins since the start</h2>
        {isShared && (
          <p class="quiet">
            Only what this relay did: one starts a sign-in that another may finish. The metrics of
            all add up.
          </p>
        )}
        {funnelTable(facts, counts)}
      </section>
      <section>
        <h2>The last hour, by minute</h2>
        <p>
          {KINDS.map(([kind, label]) => (
            <span class={kind}>■ {label}</span>
          ))}
        </p>
        {services.map((service) => plot(service, hour))}
      </section>
      <section>
        <h2>Now</h2>
        <p>
          Sign-ins in progress:{' '}
          <b id="live">{liveSessions ?? 'not known: the store does not answer'}</b> of{' '}
          {facts.maxSessions} (MAX_SESSIONS)
        </p>
        <p>Polls that wait here: {state.parkedPolls}</p>
      </section>
    </>,
  );
}

/** A table. On a phone each cell is a line that begins with the name of its column. */
const table = (
  id: string,
  columns: readonly string[],
  rows: readonly (readonly (string | number)[])[],
) => (
  <table id={id}>
    <thead>
      <tr>
        {columns.map((name) => (
          <th>{name}</th>
        ))}
      </tr>
    </thead>
    <tbody>
      {rows.map((cells) => (
        <tr>
          {columns.map((name, index) => (
            <td data-column={name}>{cells[index]}</td>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
);

/** Has no percentages if the store is shared: another relay may have started the sign-in. */
function funnelTable({ services, isShared }: Facts, { providers }: Counts) {
  const columns = ['started', 'opened', 'called back', 'exchanged', 'delivered', 'expired'];
  const rows = services.map(({ name, displayName }) => {
    const own = providers.get(name) ?? NONE;
    const expired = sumOf([...own.expired.values()]);
    const steps = [own.opened, own.calledBack, own.exchanged, own.delivered, expired];
    const shown = steps.map((count) => (isShared ? count : partOf(count, own.started)));
    return [displayName, own.started, ...shown];
  });
  return table('funnel', ['provider', ...columns], rows);
}

const NONE = new ProviderCounts();

function failureTable(failures: readonly RecentFailure[]) {
  const columns = ['UTC', 'times', 'sign-in', 'provider', 'event', 'what to do'];
  const rows = failures.map((failure) => {
    const { atMs, endedAtMs, count, signIn = '–', service = '–', event, hint } = failure;
    const over = endedAtMs === undefined ? '' : `, over ${clockOf(endedAtMs)}`;
    return [clockOf(atMs) + over, count, signIn, service, event, hint];
  });
  return table('failures', columns, rows);
}

/** The colour says who has to act: nobody, the user, the operator; after an expiry that is unknown. */
const KINDS: readonly (readonly [kind: string, label: string, outcomes: readonly string[]])[] = [
  ['good', 'signed in', ['signed_in']],
  ['user', 'ended by the user', ['access_denied', 'declined', 'cancelled']],
  ['bad', 'failed', ['authorization_failed', 'missing_code', 'exchange_failed']],
  ['expired', 'expired', ['expired']],
];
const OUTCOMES = new Set(KINDS.flatMap(([, , outcomes]) => outcomes));

const sumOf = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0);

/** A provider is reported if users did not come back from it for this long, and none succeeded. */
const SILENT_MINUTES = 10;

/** The numbers of the last hour that matter most. */
function figures(hour: readonly HourlyCounts[], services: Facts['services']) {
  const count = (step: Step, minutes = MINUTES, service?: string) =>
    sumOf(
      hour
        .filter((each) => each.what === step && (service ?? each.service) === each.service)
        .flatMap((each) => each.minutes.slice(-minutes)),
    );
  const [refused, notBack] = [count('start_refused'), count('not_back')];
  const silent = services.filter(
    ({ name }) =>
      count('not_back', SILENT_MINUTES, name) > 0 &&
      count('got_tokens', SILENT_MINUTES, name) === 0,
  );
  return (
    <dl class="figures">
      <div>
        <dt>got their tokens, of those who opened the link</dt>
        <dd id="share">
          {count('got_tokens')} of {count('opened')}
        </dd>
      </div>
      <div>
        <dt>starts refused</dt>
        <dd id="refused" class={refused > 0 ? 'bad' : undefined}>
          {refused}
        </dd>
      </div>
      <div>
        <dt>did not come back from the provider</dt>
        <dd id="not-back" class={silent.length > 0 ? 'bad' : undefined}>
          {notBack}
        </dd>
        {silent.map(({ displayName }) => (
          <dd class="bad">
            {displayName}: no success for {SILENT_MINUTES} minutes
          </dd>
        ))}
      </div>
    </dl>
  );
}

/** The width of a bar, and the height of the tallest one. The plot is stretched to the width of the page, so no text is inside. */
const [BAR, HEIGHT] = [10, 40];

/** One bar for each minute, whose parts are the outcomes. */
function plot({ name, displayName }: Facts['services'][number], hour: readonly HourlyCounts[]) {
  const own = hour.filter(({ service }) => service === name);
  const bars = Array.from({ length: MINUTES }, (_, minute) =>
    KINDS.map(([, , outcomes]) => {
      const ended = own.filter(({ what }) => outcomes.includes(what));
      return sumOf(ended.map(({ minutes }) => minutes[minute] ?? 0));
    }),
  );
  const most = Math.max(1, ...bars.map(sumOf));
  const scale = HEIGHT / most;
  const all = own
    .filter(({ what }) => OUTCOMES.has(what))
    .map(({ what, minutes }) => `${sumOf(minutes)} ${what}`)
    .join(', ');
  const label = `${displayName}: ${all || 'nothing'}`;
  return (
    <figure>
      <figcaption>{label}</figcaption>
      <svg
        class="plot"
        viewBox={`0 0 ${MINUTES * BAR} ${HEIGHT}`}
        height={HEIGHT}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
      >
        {bars.flatMap((bar, minute) => {
          let top = HEIGHT;
          return bar.flatMap((count, index) => {
            if (count === 0) return [];
            top -= count * scale;
            const x = minute * BAR + 1;
            return [
              <rect
                class={KINDS[index]?.[0]}
                x={x}
                y={top}
                width={BAR - 2}
                height={count * scale}
              />,
            ];
          });
        })}
      </svg>
      <div class="ends quiet">
        <span>60 minutes ago</span>
        <span>most in a minute: {most}</span>
        <span>now</span>
      </div>
    </figure>
  );
}

function partOf(count: number, all: number): string {
  return all === 0 ? String(count) : `${count} (${Math.round((100 * count) / all)} %)`;
}

function clockOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 19);
}

function durationOf(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  return `${Math.floor(seconds / 3_600)} h`;
}
