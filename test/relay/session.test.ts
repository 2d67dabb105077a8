/** The session machine: which event leads from which state to which. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { EXCHANGE_LEASE_MS } from '../../src/limits.ts';
import { type Session, type SessionEvent, transition } from '../../src/relay/session.ts';
import { property } from '../kit/random.ts';

const CORE = { service: 'mal', pollDigest: 'digest', startedAtMs: 0, expiresAtMs: 600_000 };
const TOKENS = { accessToken: 'granted' };

const PENDING: Session = { ...CORE, state: 'pending', verifier: 'v' };
const EXCHANGING: Session = { ...CORE, state: 'exchanging', leaseEndsAtMs: EXCHANGE_LEASE_MS };
const COMPLETED: Session = { ...CORE, state: 'completed', result: TOKENS };

const OPEN: SessionEvent = { type: 'open' };
const DENY: SessionEvent = { type: 'fail', result: { error: 'access_denied' } };
const LEASE: SessionEvent = { type: 'lease' };
const COMPLETE: SessionEvent = { type: 'complete', result: TOKENS };
const CLAIM: SessionEvent = { type: 'claim' };

/** The next state, 'claimed', or the refusal. */
function outcomeOf(session: Session, event: SessionEvent, nowMs = 0): string {
  const outcome = transition(session, event, nowMs);
  return outcome.ok ? (outcome.to?.state ?? 'claimed') : outcome.refusal;
}

describe('every cell of the table', () => {
  const table: [Session, SessionEvent, string][] = [
    [PENDING, OPEN, 'pending'],
    [PENDING, DENY, 'completed'],
    [PENDING, LEASE, 'exchanging'],
    [PENDING, COMPLETE, 'not_leased'],
    [PENDING, CLAIM, 'still_pending'],
    [EXCHANGING, OPEN, 'under_way'],
    [EXCHANGING, DENY, 'under_way'],
    [EXCHANGING, LEASE, 'under_way'],
    [EXCHANGING, COMPLETE, 'completed'],
    [EXCHANGING, CLAIM, 'still_pending'],
    [COMPLETED, OPEN, 'already_completed'],
    [COMPLETED, DENY, 'already_completed'],
    [COMPLETED, LEASE, 'already_completed'],
    [COMPLETED, COMPLETE, 'already_completed'],
    [COMPLETED, CLAIM, 'claimed'],
  ];
  for (const [session, event, expected] of table) {
    test(`${session.state}, ${event.type} -> ${expected}`, () => {
      expect(outcomeOf(session, event)).toBe(expected);
    });
  }
});

describe('results that a device may fetch again', () => {
  const FAILED: Session = { ...CORE, state: 'completed', result: { error: 'access_denied' } };

  test('tokens with `repeatMs`: completed -> delivered, for that long from the first claim', () => {
    const completed: Session = { ...COMPLETED, repeatMs: 5_000 };
    const first = transition(completed, CLAIM, 600_000);
    expect(first.ok && first.to).toMatchObject({ state: 'delivered', expiresAtMs: 605_000 });
    if (!first.ok || first.to === undefined) return expect.unreachable();
    expect(outcomeOf(first.to, CLAIM, 605_000)).toBe('delivered');
    expect(outcomeOf(first.to, CLAIM, 605_001)).toBe('expired');
    expect(outcomeOf(first.to, OPEN, 600_000)).toBe('already_completed');
  });

  test('an error with `keepsErrors`: the session stays completed, whatever `repeatMs` says', () => {
    for (const repeatMs of [undefined, 5_000]) {
      const failed: Session = { ...FAILED, keepsErrors: true, ...(repeatMs && { repeatMs }) };
      const claimed = transition(failed, CLAIM, 600_000);
      expect(claimed.ok && claimed.to).toEqual(failed);
    }
    expect(outcomeOf(FAILED, CLAIM)).toBe('claimed');
    expect(outcomeOf({ ...COMPLETED, keepsErrors: true }, CLAIM)).toBe('claimed');
  });

  test('a lease that ran out keeps the options of its session', () => {
    const leased: Session = { ...EXCHANGING, keepsErrors: true };
    const claimed = transition(leased, CLAIM, EXCHANGE_LEASE_MS + 1);
    expect(claimed.ok && claimed.to).toMatchObject({ result: { error: 'exchange_failed' } });
  });
});

test('a session lives to the last millisecond of its lifetime, and not longer', () => {
  expect(outcomeOf(PENDING, OPEN, 600_000)).toBe('pending');
  for (const session of [PENDING, EXCHANGING, COMPLETED]) {
    for (const event of [OPEN, DENY, LEASE, COMPLETE, CLAIM]) {
      expect(outcomeOf(session, event, 600_001)).toBe('expired');
    }
  }
});

test('the verifier is removed as soon as the lease is given or the session fails', () => {
  const leased = transition(PENDING, LEASE, 0);
  expect(leased.ok && leased.from).toEqual(PENDING);
  expect(leased.ok && leased.to).not.toHaveProperty('verifier');
  const denied = transition(PENDING, DENY, 0);
  expect(denied.ok && denied.to).not.toHaveProperty('verifier');
});

test('a lease that ran out is a failed exchange, and its late holder is refused', () => {
  const late = EXCHANGE_LEASE_MS + 1;
  expect(outcomeOf(EXCHANGING, CLAIM, EXCHANGE_LEASE_MS)).toBe('still_pending');
  const claimed = transition(EXCHANGING, CLAIM, late);
  expect(claimed.ok && claimed.from).toMatchObject({ result: { error: 'exchange_failed' } });
  expect(outcomeOf(EXCHANGING, COMPLETE, late)).toBe('already_completed');
});

test('in whatever order events come: one lease, one result, one claim, all before the expiry', () => {
  const step = fc.record({
    event: fc.constantFrom(OPEN, DENY, LEASE, COMPLETE, CLAIM),
    waitMs: fc.integer({ min: 0, max: 120_000 }),
  });
  property(fc.array(step, { maxLength: 40 }), (steps) => {
    const taken = { lease: 0, fail: 0, complete: 0, claim: 0, open: 0 };
    let session: Session | undefined = PENDING;
    let nowMs = 0;
    for (const { event, waitMs } of steps) {
      nowMs += waitMs;
      if (session === undefined) break;
      const outcome = transition(session, event, nowMs);
      if (!outcome.ok) continue;
      expect(nowMs).toBeLessThanOrEqual(CORE.expiresAtMs);
      taken[event.type] += 1;
      session = outcome.to;
    }
    expect(taken.lease).toBeLessThanOrEqual(1);
    expect(taken.fail + taken.complete).toBeLessThanOrEqual(1);
    expect(taken.claim).toBeLessThanOrEqual(1);
  });
});
