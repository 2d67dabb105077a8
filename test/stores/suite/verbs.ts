/** Random sequences of verbs, and what a store answers to each of them. */
import fc from 'fast-check';
import { ACK_MS, EXCHANGE_LEASE_MS } from '../../../src/limits.ts';
import type { SessionResult } from '../../../src/relay/session.ts';
import type { NewSession, SessionStore } from '../../../src/relay/store.ts';
import { LIFETIME_MS, makeUserCode, NOW, newSession, TOKENS } from './sessions.ts';

const DENIED: SessionResult = { error: 'access_denied' };

/** On both sides of every boundary in time; mostly none, or no session would get far. */
const boundaries = [EXCHANGE_LEASE_MS, ACK_MS / 2, ACK_MS, LIFETIME_MS].flatMap((lastMs) => [
  lastMs,
  lastMs + 1,
]);
const pauses = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom(0, 1) },
  { weight: 1, arbitrary: fc.constantFrom(...boundaries) },
);

const services = fc.constantFrom('mal', 'mal', 'mal', 'anilist');

/** What is done; the session is one of those registered so far. */
const step = fc.record({
  verb: fc.constantFrom(
    ...(['register', 'again', 'open', 'lease', 'lease', 'fail'] as const),
    ...(['complete', 'complete', 'claim', 'claim', 'sweep'] as const),
    ...(['find', 'find by code', 'use code', 'acknowledge'] as const),
  ),
  session: fc.nat({ max: 3 }),
  service: services,
  withVerifier: fc.boolean(),
  withCode: fc.boolean(),
  withName: fc.boolean(),
  repeatMs: fc.constantFrom(undefined, ACK_MS, ACK_MS / 2),
  keepsErrors: fc.boolean(),
  pauseMs: pauses,
});

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** All sessions live equally long, as in a relay: the memory store relies on it. */
export const sequences = fc.record({
  steps: fc.array(step, { minLength: 5, maxLength: 40 }),
  lifetimeMs: fc.constantFrom(1, EXCHANGE_LEASE_MS - 1, LIFETIME_MS, LIFETIME_MS, LIFETIME_MS),
});

export type Sequence = typeof sequences extends fc.Arbitrary<infer Value> ? Value : never;

/** The sessions that a sequence speaks of, the same for every store. */
export function castOf({ steps, lifetimeMs }: Sequence): NewSession[] {
  return steps.map(({ service, withVerifier, withCode, withName, repeatMs, keepsErrors }) => {
    const { verifier, ...session } = newSession({ service, lifetimeMs });
    return {
      ...session,
      ...(withVerifier && verifier !== undefined && { verifier }),
      ...(withCode && { userCode: makeUserCode() }),
      ...(withName && { deviceName: 'Fernseher 📺' }),
      ...(repeatMs !== undefined && { repeatMs }),
      ...(keepsErrors && { keepsErrors }),
    };
  });
}

/** All that the store answered, in order. */
export async function runSequence(
  store: SessionStore,
  { steps }: Sequence,
  cast: readonly NewSession[],
): Promise<unknown[]> {
  const answers: unknown[] = [];
  const registered: NewSession[] = [];
  const claimed = new Set<NewSession>();
  let nowMs = NOW;
  for (const [index, step] of steps.entries()) {
    nowMs += step.pauseMs;
    const fresh = cast[index];
    const known = registered[step.session % registered.length];
    if (step.verb === 'register' && fresh !== undefined) {
      registered.push(fresh);
      answers.push(await store.register(fresh, nowMs));
    } else if (step.verb === 'again' && known !== undefined) {
      // Capabilities are random, so nobody comes with those of a session that was claimed.
      if (!claimed.has(known)) answers.push(await store.register(known, nowMs));
    } else if (known !== undefined) {
      const answer = await runVerb(store, step, known, nowMs);
      if (step.verb === 'claim' && isClaimed(answer)) claimed.add(known);
      answers.push(answer);
    }
  }
  return answers;
}

function runVerb(
  store: SessionStore,
  { verb, service }: Step,
  { browserState, pollSecret, userCode = '' }: NewSession,
  nowMs: number,
): Promise<unknown> {
  switch (verb) {
    case 'open':
      return store.open(service, browserState, nowMs);
    case 'lease':
      return store.lease(service, browserState, nowMs);
    case 'fail':
      return store.fail(service, browserState, { error: 'access_denied' }, nowMs);
    case 'complete':
      return store.complete(service, browserState, isEven(nowMs) ? TOKENS : DENIED, nowMs);
    case 'claim':
      return store.claim(pollSecret, nowMs);
    case 'find':
      return store.find({ browserState }, nowMs);
    case 'find by code':
      return store.find({ userCode }, nowMs);
    case 'use code':
      return store.useCode(userCode, nowMs);
    case 'acknowledge':
      return store.acknowledge(pollSecret, nowMs);
    default:
      return store.sweep(nowMs);
  }
}

const isEven = (number: number) => number % 2 === 0;

function isClaimed(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'result' in answer;
}
