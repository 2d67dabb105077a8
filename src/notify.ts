/**
 * Notifies the operator with one HTTP POST (NOTIFY_URL) when something needs a person, and when
 * that has ended. docs/operating.md "Notifications".
 */
import { log } from './log.ts';
import type { Monitor } from './monitor.ts';
import { type Fetch, USER_AGENT } from './providers/config.ts';
import { codeOf } from './providers/connect-problem.ts';
import type { ServiceState } from './service.ts';
import type { Settings } from './settings/index.ts';
import type { Clock } from './sign-ins/time.ts';

const CHECK_MS = 30_000;
/** What does not arrive is sent again with a backoff that doubles from CHECK_MS to this. */
const MAX_BACKOFF_MS = 900_000;
/** The least time between two notifications of a reason that ended and recurs. */
const RECUR_MS = 300_000;
/** The default of Prometheus' Alertmanager (`repeat_interval`). */
const REMIND_MS = 4 * 3_600_000;
/** More than anybody would read. */
const MAX_AN_HOUR = 10;
/** At most this many are about providers: anybody can cause those with made-up callbacks, and must not silence an outage. */
const MAX_ABOUT_PROVIDERS_AN_HOUR = MAX_AN_HOUR / 2;
const HOUR_MS = 3_600_000;
const TIMEOUT_MS = 5_000;
/** A provider is a cause if at least LEAST_FAILURES, and more than half, of its latest sign-ins failed. */
const LATEST_SIGN_INS = 9;
const LEAST_FAILURES = 3;

/**
 * Sends a notification. Resolves with undefined if it arrived, otherwise with the reason. Never
 * rejects. `cause`, such as `provider mal`, is the same when it begins and when it ends. `text`
 * has no secret.
 */
export async function send(
  { notifyUrl = '', baseUrl }: Settings,
  fetch: Fetch,
  cause: string,
  text: string,
  hasEnded = false,
) {
  const url = new URL(notifyUrl);
  const title = `Sign-in Relay ${baseUrl === undefined ? '' : new URL(baseUrl).host}`.trim();
  const message = hasEnded ? `Over: ${text}` : text;
  // `text` is what Slack and Mattermost show, `content` what Discord does.
  const line = `${title}: ${message}`;
  const json = { text: line, content: line, cause, over: hasEnded };
  const isNtfy = url.hostname.startsWith('ntfy.') || url.hash === '#ntfy';
  const { about, body } = isNtfy
    ? { about: { Title: title, Tags: hasEnded ? 'white_check_mark' : 'warning' }, body: message }
    : { about: { 'Content-Type': 'application/json' }, body: JSON.stringify(json) };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const headers = { ...about, 'User-Agent': USER_AGENT };
    const init = { method: 'POST', headers, body, redirect: 'manual', signal } as const;
    const response = await fetch(notifyUrl, init);
    await response.body?.cancel();
    const isTaken = response.status >= 200 && response.status < 300;
    return isTaken ? undefined : `it answered ${response.status}`;
  } catch (error) {
    return signal.aborted
      ? `it did not answer within ${TIMEOUT_MS / 1_000} s`
      : `it cannot be reached (${codeOf(error)})`;
  }
}

interface Cause {
  /** A new reason is sent even if the cause persists. */
  readonly reason: string;
  readonly text: string;
  readonly isAboutProvider: boolean;
}

/** Failures that end a sign-in. */
const FINAL_FAILURES: ReadonlySet<string> = new Set(['exchange_failed', 'authorization_failed']);

const NO_MORE = `This is the ${MAX_AN_HOUR}th notification within an hour: more follow when it has passed`;

export function createNotifier(settings: Settings, fetch: Fetch, clock: Clock) {
  const { maxSessions } = settings;
  /** How the latest sign-ins ended after their user came back: the hint of a failure, or undefined for a success. */
  const providers = settings.providers.map(({ name, displayName }) => ({
    name,
    displayName,
    latest: [] as (string | undefined)[],
  }));
  /** The last notification of each cause that persists. */
  const open = new Map<string, Cause>();
  /** When each reason was last sent. Bounded: reasons are provider names and our own texts. */
  const sentAtMsOf = new Map<string, number>();
  /** When a notification that did not arrive is sent again, and the pause after that, by cause. */
  const retries = new Map<string, { readonly atMs: number; readonly pauseMs: number }>();
  /** The notifications that arrived in the last hour. */
  let sent: { readonly atMs: number; readonly isAboutProvider: boolean }[] = [];

  function findCauses({ readiness, liveSessions = 0 }: ServiceState) {
    const causes = new Map<string, Cause>();
    const add = (cause: string, text: string) =>
      causes.set(cause, { reason: text, text, isAboutProvider: false });
    for (const { name, displayName, latest } of providers) {
      const failures = latest.filter((hint) => hint !== undefined);
      const { length } = failures;
      if (length < LEAST_FAILURES || length * 2 <= latest.length) continue;
      const text = `${displayName}: ${length} of the last ${latest.length} sign-ins failed. ${failures.at(-1)}`;
      // The numbers in the text change with each sign-in.
      causes.set(`provider ${name}`, { reason: name, text, isAboutProvider: true });
    }
    if (readiness.status === 'down') add('ready', `Not ready: ${readiness.reason}`);
    if (readiness.status === 'degraded') add('ready', `Some requests fail: ${readiness.reason}`);
    const full = `MAX_SESSIONS (${maxSessions}) sign-ins are in progress, so starts get a 503: raise it, or lower START_BURST and START_RATE if somebody abuses starts`;
    if (liveSessions >= maxSessions) add('sessions', full);
    return causes;
  }

  function recordEnd(service: string | undefined, hint?: string): void {
    const latest = providers.find(({ name }) => name === service)?.latest;
    latest?.push(hint);
    if (latest !== undefined && latest.length > LATEST_SIGN_INS) latest.shift();
  }

  /** True if it arrived. Otherwise later checks try again, while the cause persists. */
  async function deliver(
    cause: string,
    { text, isAboutProvider }: Omit<Cause, 'reason'>,
    hasEnded = false,
  ): Promise<boolean> {
    const nowMs = clock.now();
    const { atMs, pauseMs } = retries.get(cause) ?? { atMs: nowMs, pauseMs: CHECK_MS };
    if (nowMs < atMs) return false;
    sent = sent.filter((each) => nowMs - each.atMs < HOUR_MS);
    const aboutProviders = sent.filter((each) => each.isAboutProvider).length;
    const isShareFull = isAboutProvider && aboutProviders >= MAX_ABOUT_PROVIDERS_AN_HOUR;
    if (sent.length >= MAX_AN_HOUR || isShareFull) return false;
    const isLast = sent.length === MAX_AN_HOUR - 1;
    const problem = await send(
      settings,
      fetch,
      cause,
      isLast ? `${text}. ${NO_MORE}` : text,
      hasEnded,
    );
    if (problem === undefined) {
      sent.push({ atMs: nowMs, isAboutProvider });
      retries.delete(cause);
      return true;
    }
    log.warning('notify_failed', { problem });
    const next = { atMs: nowMs + pauseMs, pauseMs: Math.min(pauseMs * 2, MAX_BACKOFF_MS) };
    retries.set(cause, next);
    return false;
  }

  async function check(state: ServiceState): Promise<void> {
    const { readiness } = state;
    if (readiness.status === 'down' && readiness.reason === 'draining') return;
    const causes = findCauses(state);
    for (const [name, cause] of causes) {
      const { reason, text } = cause;
      const isReminder = open.get(name)?.reason === reason;
      const quietMs = isReminder ? REMIND_MS : RECUR_MS;
      const lastMs = sentAtMsOf.get(reason) ?? Number.NEGATIVE_INFINITY;
      if (clock.now() - lastMs < quietMs) continue;
      const notification = isReminder ? { ...cause, text: `Still: ${text}` } : cause;
      if (!(await deliver(name, notification))) continue;
      open.set(name, cause);
      sentAtMsOf.set(reason, clock.now());
    }
    for (const [cause, last] of open) {
      if (!causes.has(cause) && (await deliver(cause, last, true))) open.delete(cause);
    }
    for (const cause of retries.keys()) {
      if (!causes.has(cause) && !open.has(cause)) retries.delete(cause);
    }
  }

  return {
    check,
    /** Returns a monitor that passes all events on, and counts how sign-ins end. */
    listenTo: (monitor: Monitor): Monitor => ({
      ...monitor,
      ended(service, outcome) {
        monitor.ended(service, outcome);
        if (outcome === 'signed_in') recordEnd(service);
      },
      failed(failure) {
        monitor.failed(failure);
        if (FINAL_FAILURES.has(failure.event)) recordEnd(failure.service, failure.hint);
      },
    }),
    /** Checks every CHECK_MS, one check after the other. Ignores failures: the next check tries again. */
    watch(readState: () => Promise<ServiceState>): void {
      const checkNow = async () => {
        await readState()
          .then(check)
          .catch(() => {});
        later();
      };
      const later = () => clock.setTimer(CHECK_MS, () => void checkNow());
      later();
    },
  };
}
