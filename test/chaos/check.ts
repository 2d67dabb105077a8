/** What a history (history.ts) says of each sign-in. It knows the promises of docs/protocol.md and docs/scaling.md, and nothing of the relay. */
import type { HistoryEvent, RequestEvent } from './history.ts';

/** docs/scaling.md "What can be lost": a relay learns of a promotion half a second late; more on a busy machine. */
const LATE_MS = 3_000;
/** Between a promotion and when it is seen here. */
const SEEN_LATE_MS = 1_000;
/** No request may take longer. A poll is held for 50 s. */
const LONGEST_REQUEST_MS = 60_000;
/** docs/scaling.md "When a relay is paused". */
const LEASE_MS = 20_000;
/** How long a relay may take, on a busy machine, to read what arrived while it was stopped. */
const RESUMES_WITHIN_MS = 1_000;
/** Tokens that come later may be too late for a relay, which waits 15 s (docs/protocol.md §8). */
const PROVIDER_LATE_MS = 10_000;
/** What is not delivered at the end of a session, by clocks that differ. */
const EXPIRY_MARGIN_MS = 2_000;

const ALLOWED: Readonly<Record<RequestEvent['what'], readonly number[]>> = {
  // 429: it tries again sooner than the limit allows.
  start: [200, 429, 503],
  link: [302, 404, 503],
  continue: [303, 404, 503],
  callback: [200, 404, 502, 503],
  poll: [200, 204, 410],
  acknowledge: [204, 410, 503],
};

/** Why a result may be lost or repeated, as docs/scaling.md and docs/protocol.md say. */
type Rule =
  | 'failover: the sign-in is lost'
  | 'failover: the result is lost'
  | 'failover: the code was sent twice'
  | 'failover: delivered again'
  | 'a relay was killed while it exchanged'
  | 'a relay was killed while it delivered, without ack'
  | 'the response was lost, without ack'
  | 'a stopped relay answered a device that had left, without ack'
  | 'the session expired';

export interface Report {
  readonly signIns: number;
  readonly signedIn: number;
  /** The provider granted nothing, or the user declined or left, and the device got the error. */
  readonly refused: number;
  readonly promotions: number;
  readonly faults: Readonly<Partial<Record<string, number>>>;
  readonly lostRequests: number;
  /** By documented rule. */
  readonly documented: Readonly<Partial<Record<Rule, number>>>;
  /** Sign-ins for which a promise was broken. All are empty in a relay without a defect. */
  readonly deliveredTwice: readonly number[];
  readonly deliveredToAnother: readonly number[];
  readonly lostWithLiveStore: readonly number[];
  readonly hung: readonly number[];
  readonly deadEnds: readonly string[];
}

interface SignIn {
  readonly id: number;
  readonly requests: RequestEvent[];
  started?: Extract<HistoryEvent, { type: 'started' }>;
  endedAtMs?: number;
}

export function checkHistory(events: readonly HistoryEvent[]): Report {
  const index = indexOf(events);
  const checks = [...index.signIns.values()].map((signIn) => checkSignIn(signIn, index));
  const idsWith = (broken: (check: Check) => boolean) =>
    checks.filter(broken).map(({ signIn }) => signIn.id);
  const outcomes = (outcome: Outcome) => checks.filter((check) => check.outcome === outcome).length;
  return {
    signIns: checks.length,
    signedIn: outcomes('signed in'),
    refused: outcomes('refused'),
    promotions: index.promotions.length,
    faults: tally(index.faults.map(({ name, failed }) => (failed ? `${name} (failed)` : name))),
    lostRequests: index.requests.filter(({ status }) => status === 'lost').length,
    documented: tally(checks.flatMap(({ rules }) => rules)),
    deliveredTwice: idsWith((check) => check.isDeliveredTwice),
    deliveredToAnother: idsWith((check) => check.isDeliveredToAnother),
    lostWithLiveStore: idsWith((check) => check.outcome === 'lost with a live store'),
    hung: index.requests
      .filter(({ fromMs, toMs }) => toMs - fromMs > LONGEST_REQUEST_MS)
      .map(({ signIn }) => signIn),
    deadEnds: checks.flatMap(({ deadEnds }) => deadEnds),
  };
}

function tally<Key extends string>(keys: readonly Key[]): Partial<Record<Key, number>> {
  const counts: Partial<Record<Key, number>> = {};
  for (const key of keys) counts[key] = (counts[key] ?? 0) + 1;
  return counts;
}

function indexOf(events: readonly HistoryEvent[]) {
  const signIns = new Map<number, SignIn>();
  const relayOf = new Map<string, number>();
  const codeOfToken = new Map<string, string>();
  const signInOfCode = new Map<string, number>();
  const of = <Type extends HistoryEvent['type']>(type: Type) =>
    events.filter((event): event is Extract<HistoryEvent, { type: Type }> => event.type === type);
  const find = (id: number): SignIn => {
    const signIn = signIns.get(id) ?? { id, requests: [] };
    signIns.set(id, signIn);
    return signIn;
  };
  const requests = of('request');
  for (const request of requests) {
    find(request.signIn).requests.push(request);
    if (request.code) signInOfCode.set(request.code, request.signIn);
  }
  for (const event of of('started')) find(event.signIn).started = event;
  for (const { signIn, atMs } of of('ended')) find(signIn).endedAtMs = atMs;
  for (const { id, relay } of of('forwarded')) relayOf.set(id, relay);
  const exchanges = Map.groupBy(of('exchange'), ({ code }) => code);
  const grants = Map.groupBy(of('granted'), ({ code }) => code);
  for (const { code, token } of of('granted')) codeOfToken.set(token, code);
  const faults = of('fault');
  return {
    signIns,
    requests,
    exchanges,
    grants,
    faults,
    promotions: of('new primary'),
    kills: faults.filter(({ name }) => name === KILL),
    stops: faults.filter(({ name }) => name === STOP),
    relayOf: (request: RequestEvent) => relayOf.get(request.id),
    ownerOf: (token: string) => signInOfCode.get(codeOfToken.get(token) ?? ''),
  };
}

/** The name of the fault that ends a relay with SIGKILL. */
export const KILL = 'relay killed (-9)';

/** That of the fault with SIGSTOP and SIGCONT. */
export const STOP = 'relay stopped and continued';

type Index = ReturnType<typeof indexOf>;
type Outcome = 'signed in' | 'refused' | 'lost by a documented rule' | 'lost with a live store';

interface Check {
  readonly signIn: SignIn;
  readonly outcome: Outcome;
  readonly rules: readonly Rule[];
  readonly isDeliveredTwice: boolean;
  readonly isDeliveredToAnother: boolean;
  readonly deadEnds: readonly string[];
}

function checkSignIn(signIn: SignIn, index: Index): Check {
  const polls = signIn.requests.filter(({ what }) => what === 'poll');
  const delivered = polls.filter(({ token }) => token !== undefined);
  const lost = delivered.length === 0 && lossOf(signIn, index, polls);
  const isAgain = isRepeated(signIn, delivered);
  const isAcross = isAcrossFailover(signIn, index);
  const rules: Rule[] = [];
  if (lost && lost !== 'live') rules.push(lost);
  if (isAgain && isAcross) rules.push('failover: delivered again');
  // A second page of the user sent the code again, and that failed.
  const isContradicted = !lost && delivered.length > 0 && hasErrorOfFailure(signIn);
  if (isContradicted && isAcross) rules.push('failover: the code was sent twice');
  let outcome: Outcome = 'signed in';
  if (lost === 'live') outcome = 'lost with a live store';
  else if (lost) outcome = 'lost by a documented rule';
  else if (delivered.length === 0) outcome = 'refused';
  return {
    signIn,
    outcome,
    rules,
    isDeliveredTwice: isAgain && !isAcross,
    isDeliveredToAnother: delivered.some(({ token }) => index.ownerOf(token ?? '') !== signIn.id),
    deadEnds: [
      ...deadEndsOf(signIn, polls),
      ...(isContradicted && !isAcross
        ? [`${signIn.id}: the page said that it failed, and the device has tokens`]
        : []),
    ],
  };
}

const hasErrorOfFailure = ({ requests }: SignIn) =>
  requests.some(({ what, status }) => what === 'callback' && status === 502);

/** What the provider received and granted for the codes of this sign-in. */
function exchangesOf({ requests }: SignIn, { exchanges, grants }: Index) {
  const codes = [...new Set(requests.flatMap(({ code }) => code ?? []))];
  return {
    exchanges: codes.flatMap((code) => exchanges.get(code) ?? []),
    grant: codes
      .flatMap((code) => grants.get(code) ?? [])
      .find(({ afterMs }) => afterMs < PROVIDER_LATE_MS),
  };
}

/** False: nothing was lost. 'live': no rule of the documentation allows it. */
function lossOf(
  signIn: SignIn,
  index: Index,
  polls: readonly RequestEvent[],
): Rule | 'live' | false {
  const { exchanges, grant } = exchangesOf(signIn, index);
  const failed = polls.find(({ error }) => error !== undefined);
  const gone = polls.find(({ status }) => status === 410);
  if (!grant && (failed || gone === undefined)) return false;
  if (!signIn.started?.ack && !failed) {
    // A user who declined brought no code.
    const callback = signIn.requests.find(({ what }) => what === 'callback');
    const resultAtMs = (grant ?? exchanges[0])?.atMs ?? callback?.fromMs;
    const cut = pollsThatTookResult(index, polls, resultAtMs);
    if (cut.some((poll) => isKilled(poll, index))) {
      return 'a relay was killed while it delivered, without ack';
    }
    if (cut.length > 0) return 'the response was lost, without ack';
    if (polls.some((poll) => isReadTooLate(poll, index, resultAtMs))) {
      return 'a stopped relay answered a device that had left, without ack';
    }
  }
  const isExpired = (gone?.toMs ?? 0) > (signIn.started?.expiresAtMs ?? 0) - EXPIRY_MARGIN_MS;
  if (!grant && isExpired) return false;
  const callbacks = signIn.requests.filter(({ what }) => what === 'callback');
  if (grant && callbacks.some((callback) => isKilled(callback, index))) {
    return 'a relay was killed while it exchanged';
  }
  if (isAcrossFailover(signIn, index)) {
    if (!grant) return 'failover: the sign-in is lost';
    return exchanges.length > 1
      ? 'failover: the code was sent twice'
      : 'failover: the result is lost';
  }
  return isExpired ? 'the session expired' : 'live';
}

/** Those that may have, though the device received nothing: a relay had them when there was a result. */
function pollsThatTookResult(
  index: Index,
  polls: readonly RequestEvent[],
  resultAtMs = Number.POSITIVE_INFINITY,
): readonly RequestEvent[] {
  return polls.filter(
    (poll) =>
      poll.status === 'lost' && poll.toMs >= resultAtMs && index.relayOf(poll) !== undefined,
  );
}

/** The device left while its relay was stopped. When it continued, it read the poll, and the connection's end only after there was a result. */
function isReadTooLate(poll: RequestEvent, index: Index, resultAtMs?: number): boolean {
  const relay = index.relayOf(poll);
  return (
    poll.status === 'lost' &&
    resultAtMs !== undefined &&
    index.stops.some(
      (stop) =>
        stop.relay === relay &&
        stop.fromMs <= poll.toMs &&
        stop.toMs + RESUMES_WITHIN_MS >= resultAtMs,
    )
  );
}

/** Its relay was killed while it was in progress, or while what it began continued without its client. */
function isKilled(request: RequestEvent, index: Index): boolean {
  const relay = index.relayOf(request);
  const untilMs = request.status === 'lost' ? request.fromMs + LEASE_MS : request.toMs;
  return index.kills.some(
    (kill) => kill.relay === relay && kill.fromMs <= untilMs && kill.toMs >= request.fromMs,
  );
}

/** The life of a session contains the moment at which another server took over, or it began just after it. */
function isAcrossFailover({ requests, endedAtMs }: SignIn, { promotions }: Index): boolean {
  const fromMs = Math.min(...requests.map((request) => request.fromMs));
  const toMs = endedAtMs ?? Math.max(...requests.map((request) => request.toMs));
  return promotions.some(({ atMs }) => fromMs <= atMs + LATE_MS && toMs >= atMs - SEEN_LATE_MS);
}

/** With `ack` the result may be repeated until it was acknowledged. */
function isRepeated({ started, requests }: SignIn, delivered: readonly RequestEvent[]): boolean {
  if (!started?.ack) return delivered.length > 1;
  const acknowledged = requests.filter(
    ({ what, status }) => what === 'acknowledge' && (status === 204 || status === 410),
  );
  return acknowledged.some(({ toMs }) => delivered.some(({ fromMs }) => fromMs > toMs));
}

function deadEndsOf(signIn: SignIn, polls: readonly RequestEvent[]): string[] {
  const { id, requests, endedAtMs } = signIn;
  const found = requests
    .filter(({ what, status }) => status !== 'lost' && !ALLOWED[what].includes(status))
    .map(({ what, status }) => `${id}: ${what} got ${status}`);
  if (endedAtMs === undefined) found.push(`${id}: did not end`);
  const hasError = polls.some((poll) => poll.token || poll.error || poll.status === 410);
  if (signIn.started && !hasError) found.push(`${id}: the device got no outcome`);
  const pages = requests.filter(
    ({ what }) => what !== 'start' && what !== 'poll' && what !== 'acknowledge',
  );
  if (pages.length > 0 && pages.every(({ status }) => status === 'lost' || status === 503)) {
    found.push(`${id}: the user saw no page in the end`);
  }
  return found;
}
