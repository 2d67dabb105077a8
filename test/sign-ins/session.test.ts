/** The session machine: what each event does in each state. */
import { expect, test } from 'bun:test';
import * as machine from '../../src/sign-ins/session.ts';
import { EXCHANGE_LEASE_MS } from '../kit/limits.ts';

const EXPIRES_AT_MS = 600_000;
const REDELIVERY_MS = 5_000;

/** A secret, as the machine has it. */
const kept = <Value>(text: string) => text as unknown as machine.Protected<Value>;
const RESULT = kept<machine.SessionResult>('result');

const COMMON = {
  ids: { link: 'link', poll: 'poll', code: 'code' },
  signIn: 'id',
  service: 'mal',
  startedAtMs: 0,
  expiresAtMs: EXPIRES_AT_MS,
  redeliveryMs: REDELIVERY_MS,
  opening: 'none',
  keyMaterial: kept<object>('keys'),
} as const;
const WITHOUT_KEYS = { ...COMMON, keyMaterial: undefined } as const;
const PENDING: machine.Pending = {
  ...COMMON,
  state: 'pending',
  delivery: kept('verifier'),
  deviceName: kept('name'),
};
const EXCHANGING: machine.Exchanging = {
  ...COMMON,
  state: 'exchanging',
  leaseEndsAtMs: EXCHANGE_LEASE_MS,
};
const COMPLETED: machine.Completed = {
  ...COMMON,
  state: 'completed',
  outcome: 'signed_in',
  result: RESULT,
  completedAtMs: 0,
};
const { completedAtMs: _, ...FOR_DELIVERY } = COMPLETED;
const DELIVERED: machine.Delivered = {
  ...FOR_DELIVERY,
  state: 'delivered',
  redeliveredUntilMs: EXPIRES_AT_MS,
};
const ENDED: machine.Ended = { ...WITHOUT_KEYS, state: 'ended', outcome: 'signed_in' };
const CANCELLED: machine.Cancelled = { ...WITHOUT_KEYS, state: 'cancelled' };

const EVENTS: Readonly<Record<string, machine.Event<unknown>>> = {
  find: machine.find,
  open: machine.open,
  fail: machine.fail('access_denied', RESULT),
  lease: machine.lease,
  complete: machine.complete('signed_in', RESULT),
  poll: machine.poll(false),
  acknowledge: machine.acknowledge,
  cancel: machine.cancel,
};

/** A reply in a word: an object by its state. */
const wordOf = (reply: unknown): string => {
  const { pending, state } = Object(reply) as { pending?: { state: string }; state?: string };
  return pending?.state ?? state ?? String(reply);
};

/** The reply, the next state if there is one, and what polls are notified of: `!` of the end. */
const cellOf = (event: machine.Event<unknown>, session: machine.Session, nowMs: number) => {
  const { reply, next, notice } = event(session, nowMs);
  return `${wordOf(reply)}${next ? ` > ${next.state}` : ''}${notice === 'completed' ? ' !' : notice ? ` ${notice}` : ''}`;
};

const COLUMNS: readonly (readonly [machine.Session, nowMs: number])[] = [
  [PENDING, 0],
  [EXCHANGING, EXCHANGE_LEASE_MS],
  // The relay that had the lease was killed: the session is completed with an error.
  [EXCHANGING, EXCHANGE_LEASE_MS + 1],
  [COMPLETED, EXPIRES_AT_MS],
  [DELIVERED, EXPIRES_AT_MS],
  [ENDED, EXPIRES_AT_MS],
  [CANCELLED, EXPIRES_AT_MS],
];

/** That a pending session may be completed: only a holder of a lease does so, which a failover may have lost. */
const TABLE = `
 find        | pending                 | in_progress             | failed                  | signed_in               | signed_in            | signed_in | cancelled
 open        | pending > pending opened | in_progress             | failed                  | signed_in               | signed_in            | signed_in | cancelled
 fail        | pending > completed !   | in_progress             | failed                  | signed_in               | signed_in            | signed_in | cancelled
 lease       | pending > exchanging    | in_progress             | failed                  | signed_in               | signed_in            | signed_in | cancelled
 complete    | true > completed !      | true > completed !      | failed                  | signed_in               | signed_in            | signed_in | cancelled
 poll        | pending                 | pending                 | delivered > delivered   | delivered > delivered   | delivered            | gone      | gone
 acknowledge | early                   | early                   | early                   | early                   | acknowledged > ended | gone      | gone
 cancel      | cancelled > cancelled ! | cancelled > cancelled ! | cancelled > cancelled ! | cancelled > cancelled ! | gone                 | gone      | again`;

test("every cell of the table: each event's reply in each state, and the next state", () => {
  const rows = TABLE.trim().split('\n');
  expect(rows.map((row) => row.split('|').map((cell) => cell.trim()))).toEqual(
    Object.entries(EVENTS).map(([name, event]) => [
      name,
      ...COLUMNS.map(([session, nowMs]) => cellOf(event, session, nowMs)),
    ]),
  );
});

test('a session lives to its last millisecond; after it every event is refused', () => {
  for (const session of [PENDING, EXCHANGING, COMPLETED, DELIVERED, ENDED, CANCELLED]) {
    for (const [name, event] of Object.entries(EVENTS)) {
      const isOfDevice = ['poll', 'acknowledge', 'cancel'].includes(name);
      const cell = cellOf(event, session, EXPIRES_AT_MS + 1);
      expect([name, cell]).toEqual([name, isOfDevice ? 'gone' : 'undefined']);
      const last = cellOf(machine.find, session, EXPIRES_AT_MS);
      expect([session.state, last]).not.toEqual([session.state, 'undefined']);
    }
  }
});

test('what the exchange needs is dropped at the lease, and at a failure', () => {
  expect(machine.lease(PENDING, 0)).toEqual({ reply: PENDING, next: EXCHANGING });
  const { next } = machine.fail('access_denied', RESULT)(PENDING, 0);
  expect(next).toEqual({ ...COMPLETED, outcome: 'access_denied' });
});

test('a cancelled session and a tombstone hold no secret', () => {
  for (const session of [PENDING, EXCHANGING, COMPLETED]) {
    expect(machine.cancel(session, 0).next).toEqual(CANCELLED);
  }
  expect(machine.acknowledge(DELIVERED, 0).next).toEqual(ENDED);
});

test('a result that is delivered once leaves a tombstone', () => {
  const { next } = machine.poll(false)({ ...COMPLETED, redeliveryMs: undefined }, 7);
  expect(next).toEqual({ ...ENDED, redeliveryMs: undefined });
});

test('a result is delivered again for its time, also beyond the expiry', () => {
  const { next } = machine.poll(false)(COMPLETED, 10);
  expect(next).toEqual({ ...DELIVERED, redeliveredUntilMs: 10 + REDELIVERY_MS });
  expect(machine.stateAt(next ?? PENDING, 10 + REDELIVERY_MS)).toBe(next);
  expect(machine.stateAt(next ?? PENDING, 11 + REDELIVERY_MS)).toEqual(ENDED);
  // Its link shows how it ended.
  expect(machine.neededUntilMs({ ...DELIVERED, redeliveredUntilMs: 10 })).toBe(EXPIRES_AT_MS);
  const late: machine.Delivered = { ...DELIVERED, redeliveredUntilMs: EXPIRES_AT_MS + 1 };
  expect(machine.find(late, EXPIRES_AT_MS + 1)).toEqual({ reply: undefined });
  expect(machine.poll(false)(late, EXPIRES_AT_MS + 1).reply).toMatchObject({ state: 'delivered' });
  expect(machine.stateAt(late, EXPIRES_AT_MS + 2)).toBeUndefined();
});

test('a lease that ran out completes the session with nothing to deliver', () => {
  expect(machine.stateAt(EXCHANGING, EXCHANGE_LEASE_MS + 1)).toEqual({
    ...COMPLETED,
    outcome: 'failed',
    result: undefined,
    completedAtMs: EXCHANGE_LEASE_MS,
  });
});
