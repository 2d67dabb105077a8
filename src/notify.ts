/**
 * Tells the operator by one HTTP POST (NOTIFY_URL) when something needs a person, and when it is
 * over. docs/operating.md "Notifications".
 */
import { hash } from 'node:crypto';
import { lstatSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { log } from './log.ts';
import type { Monitor } from './monitor.ts';
import type { Fetch } from './providers/config.ts';
import { codeOf } from './providers/connect-problem.ts';
import type { ServiceState } from './service.ts';
import type { Clock } from './sign-ins/time.ts';

const CHECK_MS = 30_000;
/** A cause that comes and goes is told so often at most. */
const QUIET_MS = 3_600_000;
const TIMEOUT_MS = 5_000;
/** The latest of one provider: most of them have failed, and not only one or two. */
const OUTCOMES = 20;
const LEAST_FAILURES = 3;
/** Of one client, among failures that anybody can cause: too few for a notice without another client. */
const FAILURES_OF_CLIENT = LEAST_FAILURES - 1;

/** How a sign-in ended that came back from the provider. */
interface Ended {
  readonly hasFailed: boolean;
  readonly hint?: string;
  /** As in FailureEvent. */
  readonly client?: string | undefined;
}

/** Where notices go, and whose they are. */
export interface Target {
  readonly notifyUrl: string;
  readonly baseUrl: string | undefined;
  readonly fetch: Fetch;
}

/**
 * `cause` is the same at the beginning and at the end, such as `provider mal`; `text` has no
 * secret. Never rejects. Resolves with why the notice did not arrive; undefined: it did.
 */
export async function send(target: Target, cause: string, text: string, isOver = false) {
  const { notifyUrl, baseUrl, fetch } = target;
  const url = new URL(notifyUrl);
  const title = `Sign-in Relay ${baseUrl === undefined ? '' : new URL(baseUrl).host}`.trim();
  const said = isOver ? `Over: ${text}` : text;
  // `text` is what Slack and Mattermost show, `content` what Discord does.
  const line = `${title}: ${said}`;
  const json = { text: line, content: line, cause, over: isOver };
  const isNtfy = url.hostname.startsWith('ntfy.') || url.hash === '#ntfy';
  const request = isNtfy
    ? { headers: { Title: title, Tags: isOver ? 'white_check_mark' : 'warning' }, body: said }
    : { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(json) };
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const init = { ...request, method: 'POST', redirect: 'manual', signal } as const;
    const response = await fetch(notifyUrl, init);
    await response.body?.cancel();
    return response.ok ? undefined : `it answered ${response.status}`;
  } catch (error) {
    return `it did not answer (${codeOf(error)})`;
  }
}

/** Events with which a sign-in ends. */
const ENDS: ReadonlySet<string> = new Set(['exchange_failed', 'authorization_failed']);

const BY_ANYBODY = 'Anybody can cause this with made-up callbacks: try a sign-in of your own';

export interface NotifierOptions {
  readonly clock: Clock;
  readonly services: readonly { readonly name: string; readonly displayName: string }[];
  readonly maxSessions: number;
}

export function createNotifier(target: Target, options: NotifierOptions) {
  const { clock, services, maxSessions } = options;
  const providers = services.map((service) => ({ ...service, ended: [] as Ended[] }));
  const told = new Map<string, { readonly text: string; readonly atMs: number; isOver: boolean }>();

  function findCauses({ unreadiness, limitation, liveSessions = 0 }: ServiceState) {
    const causes = new Map<string, string>();
    for (const { name, displayName, ended } of providers) {
      const failed = ended.filter(({ hasFailed }) => hasFailed);
      if (failed.length < LEAST_FAILURES || failed.length * 2 <= ended.length) continue;
      // What a stranger cannot cause says more.
      const own = failed.findLast(({ client }) => client === undefined);
      const { hint } = own ?? failed.at(-1) ?? {};
      const count = `${failed.length} of the last ${ended.length}`;
      const text = `${displayName}: ${count} sign-ins failed. ${hint}`;
      causes.set(`provider ${name}`, own === undefined ? `${text}. ${BY_ANYBODY}` : text);
    }
    if (unreadiness !== undefined) causes.set('ready', `Not ready: ${unreadiness}`);
    if (limitation !== undefined) causes.set('store', `Some requests fail: ${limitation}`);
    if (liveSessions >= maxSessions)
      causes.set('sessions', `MAX_SESSIONS: ${maxSessions} are open`);
    return causes;
  }

  function keep(service: string | undefined, outcome: Ended): void {
    const ended = providers.find(({ name }) => name === service)?.ended;
    if (ended === undefined) return;
    const { client } = outcome;
    const ofClient = ended.filter((each) => client !== undefined && each.client === client);
    const [tooMany] = ofClient.length >= FAILURES_OF_CLIENT ? ofClient : [];
    const oldest = tooMany ?? (ended.length >= OUTCOMES ? ended[0] : undefined);
    if (oldest !== undefined) ended.splice(ended.indexOf(oldest), 1);
    ended.push(outcome);
  }

  /** What did not arrive is sent again at the next check, while it is still so. */
  async function deliver(cause: string, text: string, isOver: boolean): Promise<boolean> {
    const problem = await send(target, cause, text, isOver);
    if (problem !== undefined) log.warning('notify_failed', { problem });
    return problem === undefined;
  }

  async function check(state: ServiceState): Promise<void> {
    if (state.unreadiness === 'draining') return;
    const causes = findCauses(state);
    for (const [cause, text] of causes) {
      const last = told.get(cause);
      if (last && (!last.isOver || clock.now() - last.atMs < QUIET_MS)) continue;
      const isTold = await deliver(cause, text, false);
      if (isTold) told.set(cause, { text, atMs: clock.now(), isOver: false });
    }
    for (const [cause, last] of told) {
      if (last.isOver || causes.has(cause)) continue;
      last.isOver = await deliver(cause, last.text, true);
    }
  }

  return {
    check,
    /** The same monitor, to which the notifier listens. */
    listenTo: (monitor: Monitor): Monitor => ({
      ...monitor,
      ended(service, outcome) {
        monitor.ended(service, outcome);
        if (outcome === 'signed_in') keep(service, { hasFailed: false });
      },
      failed(failure) {
        monitor.failed(failure);
        const { event, service, hint, client } = failure;
        if (ENDS.has(event)) keep(service, { hasFailed: true, hint, client });
      },
    }),
    /** Checks time and again, one check after the other. */
    watch(readState: () => Promise<ServiceState>): void {
      const later = () => clock.setTimer(CHECK_MS, () => void readState().then(check).then(later));
      later();
    },
  };
}

/** A file in the temporary folder, since a supervisor may start the relay again every second. */
const markOf = ({ notifyUrl }: Target) =>
  join(tmpdir(), `sign-in-relay-${hash('sha256', notifyUrl).slice(0, 16)}`);

export async function tellFailedStart(target: Target, text: string): Promise<void> {
  const mark = markOf(target);
  const told = lstatSync(mark, { throwIfNoEntry: false });
  if (told !== undefined && Date.now() - told.mtimeMs < QUIET_MS) return;
  try {
    rmSync(mark, { force: true });
    writeFileSync(mark, '', { flag: 'wx', mode: 0o600 });
  } catch {
    // It is told more often where nothing can be written.
  }
  await send(target, 'start', `It does not start: ${text}`);
}

/** If a failed start was told before it. */
export async function tellStarted(target: Target): Promise<void> {
  try {
    rmSync(markOf(target));
  } catch {
    return;
  }
  await send(target, 'start', 'It did not start', true);
}
