/** The session machine: the outcome and next state of each event in each state. The store suite tests how long a session is kept. */
import { expect, test } from 'bun:test';
import * as machine from '../../src/relay/session.ts';
import { EXCHANGE_LEASE_MS } from '../kit/limits.ts';

const EXPIRES_AT_MS = 600_000;
const REPEAT_MS = 5_000;
const DENIED = { error: 'access_denied' } as const;
const TOKENS = { accessToken: 'granted' };

const CORE = {
  service: 'mal',
  pollDigest: 'digest',
  startedAtMs: 0,
  expiresAtMs: EXPIRES_AT_MS,
  repeatMs: REPEAT_MS,
  keepsErrors: false,
  userCode: 'BCDFGHJK',
  opening: undefined,
};
const PENDING: machine.Pending = {
  ...CORE,
  state: 'pending',
  verifier: 'verifier',
  deviceName: 'Fernseher',
};
const EXCHANGING: machine.Session = {
  ...CORE,
  state: 'exchanging',
  leaseEndsAtMs: EXCHANGE_LEASE_MS,
};
const COMPLETED: machine.Completed = {
  ...CORE,
  state: 'completed',
  result: TOKENS,
  completedAtMs: 0,
};
const DELIVERED: machine.Session = { ...COMPLETED, state: 'delivered' };
const CANCELLED: machine.Session = { ...CORE, state: 'cancelled' };

interface Step {
  readonly outcome: string;
  /** Undefined: the session is removed. */
  readonly next: machine.Session | undefined;
}

type TakeStep = (session: machine.Session, nowMs: number) => Step;

/** A refused event leaves the session as it is. */
const move = (session: machine.Session, next: machine.Session | machine.SessionRefusal): Step =>
  typeof next === 'string' ? { outcome: next, next: session } : { outcome: 'accepted', next };

const EVENTS = {
  find: (session, nowMs) => move(session, machine.find(session, nowMs)),
  authorize: (session, nowMs) => move(session, machine.authorize(session, nowMs)),
  fail: (session, nowMs) => move(session, machine.fail(session, DENIED, nowMs)),
  lease: (session, nowMs) => move(session, machine.lease(session, nowMs)),
  complete: (session, nowMs) => move(session, machine.complete(session, TOKENS, nowMs)),
  takeOpenedNotice: (session, nowMs) => move(session, machine.takeOpenedNotice(session, nowMs)),
  cancel: (session, nowMs) => move(session, machine.cancel(session, nowMs)),
  claim(session, nowMs) {
    const claimed = machine.claim(session, nowMs);
    if (typeof claimed === 'string') return { outcome: claimed, next: session };
    const outcome = 'error' in claimed.result ? claimed.result.error : 'tokens';
    return { outcome, next: claimed.next };
  },
  acknowledge(session, nowMs) {
    const outcome = machine.acknowledge(session, nowMs);
    return { outcome, next: outcome === 'acknowledged' ? undefined : session };
  },
} satisfies Record<string, TakeStep>;

type EventName = keyof typeof EVENTS;
const EVENT_NAMES = Object.keys(EVENTS) as EventName[];

/** Of one session, every event at this moment: the outcome, and the state of the session after it. */
function column(session: machine.Session, nowMs: number) {
  return EVENT_NAMES.map((event) => {
    const { outcome, next } = EVENTS[event](session, nowMs);
    return `${event}: ${outcome}, ${next?.state ?? 'removed'}`;
  });
}

test('every cell of the table: the outcome of each event in each state, and the next state', () => {
  expect({
    pending: column(PENDING, 0),
    exchanging: column(EXCHANGING, EXCHANGE_LEASE_MS),
    'the lease ran out': column(EXCHANGING, EXCHANGE_LEASE_MS + 1),
    completed: column(COMPLETED, EXPIRES_AT_MS),
    delivered: column(DELIVERED, EXPIRES_AT_MS),
    cancelled: column(CANCELLED, EXPIRES_AT_MS),
  }).toEqual({
    pending: [
      'find: accepted, pending',
      'authorize: accepted, pending',
      'fail: accepted, completed',
      'lease: accepted, exchanging',
      'complete: not_leased, pending',
      'takeOpenedNotice: nothing_to_report, pending',
      'cancel: accepted, cancelled',
      'claim: still_pending, pending',
      'acknowledge: early, pending',
    ],
    exchanging: [
      'find: in_progress, exchanging',
      'authorize: in_progress, exchanging',
      'fail: in_progress, exchanging',
      'lease: in_progress, exchanging',
      'complete: accepted, completed',
      'takeOpenedNotice: nothing_to_report, exchanging',
      'cancel: accepted, cancelled',
      'claim: still_pending, exchanging',
      'acknowledge: early, exchanging',
    ],
    // The relay that had the lease was killed: the session is completed with an error.
    'the lease ran out': [
      'find: already_completed, exchanging',
      'authorize: already_completed, exchanging',
      'fail: already_completed, exchanging',
      'lease: already_completed, exchanging',
      'complete: already_completed, exchanging',
      'takeOpenedNotice: nothing_to_report, exchanging',
      'cancel: accepted, cancelled',
      'claim: exchange_failed, delivered',
      'acknowledge: early, exchanging',
    ],
    completed: [
      'find: already_completed, completed',
      'authorize: already_completed, completed',
      'fail: already_completed, completed',
      'lease: already_completed, completed',
      'complete: already_completed, completed',
      'takeOpenedNotice: nothing_to_report, completed',
      'cancel: accepted, cancelled',
      'claim: tokens, delivered',
      'acknowledge: early, completed',
    ],
    delivered: [
      'find: already_completed, delivered',
      'authorize: already_completed, delivered',
      'fail: already_completed, delivered',
      'lease: already_completed, delivered',
      'complete: already_completed, delivered',
      'takeOpenedNotice: nothing_to_report, delivered',
      'cancel: already_completed, delivered',
      'claim: tokens, delivered',
      'acknowledge: acknowledged, removed',
    ],
    cancelled: [
      'find: cancelled, cancelled',
      'authorize: cancelled, cancelled',
      'fail: cancelled, cancelled',
      'lease: cancelled, cancelled',
      'complete: cancelled, cancelled',
      'takeOpenedNotice: nothing_to_report, cancelled',
      'cancel: accepted, cancelled',
      'claim: cancelled, cancelled',
      'acknowledge: cancelled, cancelled',
    ],
  });
});

test('a session lives to the last millisecond of its lifetime; after it every event is refused', () => {
  expect(machine.find(PENDING, EXPIRES_AT_MS)).toEqual(PENDING);
  for (const session of [PENDING, EXCHANGING, COMPLETED, DELIVERED, CANCELLED]) {
    const expired = EVENT_NAMES.map((event) => `${event}: expired, ${session.state}`);
    expect(column(session, EXPIRES_AT_MS + 1)).toEqual(expired);
  }
});

test('the verifier is forgotten as soon as the lease is given or the session fails', () => {
  expect(machine.lease(PENDING, 0)).toEqual(EXCHANGING);
  expect(machine.fail(PENDING, DENIED, 0)).toEqual({ ...COMPLETED, result: DENIED });
  expect(machine.complete(EXCHANGING, TOKENS, 0)).toEqual(COMPLETED);
});

test('a cancelled session holds neither verifier nor result', () => {
  for (const session of [PENDING, EXCHANGING, COMPLETED]) {
    expect(machine.cancel(session, 0)).toEqual(CANCELLED);
  }
});
