/**
 * Notifies the operator with one HTTP POST (NOTIFY_URL) when something needs a person, and when
 * it is over. docs/operating.md "Notifications".
 */
import { log } from './log.ts';
import type { Monitor } from './monitor.ts';
import type { Fetch } from './providers/config.ts';
import { codeOf } from './providers/connect-problem.ts';
import type { ServiceState } from './service.ts';
import type { Clock } from './sign-ins/time.ts';

const CHECK_MS = 30_000;
/** Notify at most this often per flapping reason. */
const FLAP_MS = 300_000;
/** The default of Prometheus' Alertmanager (`repeat_interval`). */
const REMIND_MS = 4 * 3_600_000;
/** Upper limit, however much fails: nobody would read more. */
const NOTIFICATIONS_AN_HOUR = 10;
/** Of these, those that strangers can cause, so that they cannot silence an outage. */
const NOTIFICATIONS_OF_ANYBODY = NOTIFICATIONS_AN_HOUR / 2;
const HOUR_MS = 3_600_000;
const TIMEOUT_MS = 5_000;
/** A provider is a cause if most of its latest sign-ins failed: of so many, the last five in a row are enough. */
const OUTCOMES = 9;
const LEAST_FAILURES = 3;
/** Counts this many failures of one client, which would push out those of others. */
const FAILURES_OF_CLIENT = 4;
/** Failures that a stranger can cause cause a notification only if they come from at least this many clients. */
const LEAST_CLIENTS = 2;

/** The end of a sign-in whose user came back from the provider. */
interface Ended {
  readonly hasFailed: boolean;
  readonly hint?: string;
  /** As in FailureEvent. */
  readonly client?: string | undefined;
}

/** Where notifications go, and which relay they are about. */
export interface Target {
  readonly notifyUrl: string;
  readonly baseUrl: string | undefined;
  readonly fetch: Fetch;
}

/**
 * Sends a notification. `cause` is the same at the beginning and at the end, such as `provider mal`.
 * `text` has no secret. Never rejects. Resolves with why it did not arrive, or undefined.
 */
export async function send(target: Target, cause: string, text: string, isOver = false) {
  const { notifyUrl, baseUrl, fetch } = target;
  const url = new URL(notifyUrl);
  const title = `Sign-in Relay ${baseUrl === undefined ? '' : new URL(baseUrl).host}`.trim();
  const message = isOver ? `Over: ${text}` : text;
  // `text` is what Slack and Mattermost show, `content` what Discord does.
  const line = `${title}: ${message}`;
  const json = { text: line, content: line, cause, over: isOver };
  const isNtfy = url.hostname.startsWith('ntfy.') || url.hash === '#ntfy';
  const request = isNtfy
    ? { headers: { Title: title, Tags: isOver ? 'white_check_mark' : 'warning' }, body: message }
    : { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(json) };
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const init = { ...request, method: 'POST', redirect: 'manual', signal } as const;
    const response = await fetch(notifyUrl, init);
    await response.body?.cancel();
    const isTaken = response.status >= 200 && response.status < 300;
    return isTaken ? undefined : `it answered ${response.status}`;
  } catch (error) {
    return `it did not answer (${codeOf(error)})`;
  }
}

interface Cause {
  /** A new reason is sent even while the same cause is open. */
  readonly reason: string;
  readonly text: string;
  readonly isByAnybody: boolean;
}

/** Undefined if the provider works. */
function describeFailures(
  displayName: string,
  ended: readonly Ended[],
): Omit<Cause, 'reason'> | undefined {
  const failed = ended.filter(({ hasFailed }) => hasFailed);
  const own = failed.filter(({ client }) => client === undefined);
  const areMost = ({ length }: readonly Ended[], all: number) =>
    length >= LEAST_FAILURES && length * 2 > all;
  if (!areMost(failed, ended.length)) return undefined;
  // Made-up callbacks neither cause a notification of the provider's own failures nor prevent it.
  const isByAnybody = !areMost(own, ended.length - failed.length + own.length);
  const clients = new Set(failed.flatMap(({ client }) => client ?? []));
  if (isByAnybody && clients.size < LEAST_CLIENTS) return undefined;
  // The hint of a failure that no stranger can cause is more reliable.
  const { hint } = own.at(-1) ?? failed.at(-1) ?? {};
  const text = `${displayName}: ${failed.length} of the last ${ended.length} sign-ins failed. ${hint}`;
  return { text: isByAnybody ? `${text}. ${BY_ANYBODY}` : text, isByAnybody };
}

/** Events with which a sign-in ends. */
const ENDS: ReadonlySet<string> = new Set(['exchange_failed', 'authorization_failed']);

const NO_MORE = `This is the ${NOTIFICATIONS_AN_HOUR}th notification within an hour: more follow when it has passed`;

const BY_ANYBODY = 'Anybody can cause this with made-up callbacks: try a sign-in of your own';

export interface NotifierOptions {
  readonly clock: Clock;
  readonly services: readonly { readonly name: string; readonly displayName: string }[];
  readonly maxSessions: number;
}

export function createNotifier(target: Target, options: NotifierOptions) {
  const { clock, services, maxSessions } = options;
  const providers = services.map((service) => ({ ...service, ended: [] as Ended[] }));
  /** The last notification of each cause that is not over. */
  const open = new Map<string, Cause>();
  /** When each reason was last sent. Bounded: reasons are provider names and our own texts. */
  const sentAtMsOf = new Map<string, number>();
  /** The notifications of the last hour. */
  let sentAtMs: number[] = [];

  function findCauses({ readiness, liveSessions = 0 }: ServiceState) {
    const causes = new Map<string, Cause>();
    const add = (cause: string, text: string) =>
      causes.set(cause, { reason: text, text, isByAnybody: false });
    for (const { name, displayName, ended } of providers) {
      const failures = describeFailures(displayName, ended);
      // The numbers in the text change with each sign-in.
      if (failures !== undefined) causes.set(`provider ${name}`, { reason: name, ...failures });
    }
    if (readiness.status === 'down') add('ready', `Not ready: ${readiness.reason}`);
    if (readiness.status === 'degraded') add('store', `Some requests fail: ${readiness.reason}`);
    if (liveSessions >= maxSessions) add('sessions', `MAX_SESSIONS: ${maxSessions} are open`);
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

  /** Returns false if the notification did not arrive. The next check sends it again if it is still true. */
  async function deliver(
    cause: string,
    { text, isByAnybody }: Omit<Cause, 'reason'>,
    isOver = false,
  ): Promise<boolean> {
    const nowMs = clock.now();
    sentAtMs = sentAtMs.filter((atMs) => nowMs - atMs < HOUR_MS);
    if (sentAtMs.length >= (isByAnybody ? NOTIFICATIONS_OF_ANYBODY : NOTIFICATIONS_AN_HOUR))
      return false;
    const isLast = sentAtMs.length === NOTIFICATIONS_AN_HOUR - 1;
    const problem = await send(target, cause, isLast ? `${text}. ${NO_MORE}` : text, isOver);
    if (problem !== undefined) log.warning('notify_failed', { problem });
    else sentAtMs.push(nowMs);
    return problem === undefined;
  }

  async function check(state: ServiceState): Promise<void> {
    const { readiness } = state;
    if (readiness.status === 'down' && readiness.reason === 'draining') return;
    const causes = findCauses(state);
    for (const [cause, { reason, text, isByAnybody }] of causes) {
      const isReminder = open.get(cause)?.reason === reason;
      const quietMs = isReminder ? REMIND_MS : FLAP_MS;
      const lastMs = sentAtMsOf.get(reason) ?? Number.NEGATIVE_INFINITY;
      if (clock.now() - lastMs < quietMs) continue;
      const sent = isReminder ? `Still: ${text}` : text;
      if (!(await deliver(cause, { text: sent, isByAnybody }))) continue;
      open.set(cause, { reason, text, isByAnybody });
      sentAtMsOf.set(reason, clock.now());
    }
    for (const [cause, last] of open) {
      if (!causes.has(cause) && (await deliver(cause, last, true))) open.delete(cause);
    }
  }

  return {
    check,
    /** Returns a monitor that passes all events on, and counts how sign-ins end. */
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
    /** Checks every CHECK_MS, one check after the other. */
    watch(readState: () => Promise<ServiceState>): void {
      const later = () => clock.setTimer(CHECK_MS, () => void readState().then(check).then(later));
      later();
    },
  };
}
