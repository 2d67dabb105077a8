/**
 * One refresh, however often it is asked for: a refresh token may be good for a
 * single use (RFC 6749 §6), and a device that lost the answer asks again. Known
 * by the token that was sent; of it a store keeps at most a digest.
 */
import { Buffer } from 'node:buffer';
import {
  EXCHANGE_LEASE_MS,
  REFRESH_ANSWER_MS,
  REFRESH_ANSWERS,
  REFRESH_ANSWERS_BYTES,
  REFRESH_LOOK_MS,
} from '../limits.ts';
import { type Clock, pause } from './clock.ts';
import { createDeadlines } from './deadlines.ts';

export type Turn =
  /** Nobody else asks the provider with this token now: the caller does. */
  | { readonly state: 'yours' }
  | { readonly state: 'under_way' }
  | { readonly state: 'answered'; readonly answer: string };

export interface RefreshAnswerStore {
  /** Atomic: of any number of callers with one key, one is told 'yours', for EXCHANGE_LEASE_MS. */
  begin(key: string, nowMs: number): Promise<Turn>;
  /** Keeps the answer for REFRESH_ANSWER_MS; without one the turn is given up. */
  settle(key: string, answer: string | undefined, nowMs: number): Promise<void>;
}

export interface RefreshAnswers {
  /**
   * Runs `ask` once for all callers with one key at a time, and gives each of
   * them its answer; for REFRESH_ANSWER_MS after it also those who come later,
   * where `isKept` says that it is worth keeping and the limits allow it.
   * Undefined when the provider was not asked: the token is not spent.
   */
  answer<T>(
    key: string,
    ask: () => Promise<T>,
    isKept: (answer: T) => boolean,
  ): Promise<T | undefined>;
  /** Asks for no new token, and waits for no other instance any more. */
  drain(): void;
  /** Resolves when those that are under way have their answer. */
  settled(): Promise<void>;
}

export function createRefreshAnswers(store: RefreshAnswerStore, clock: Clock): RefreshAnswers {
  const underWay = new Map<string, Promise<unknown>>();
  const reserve = createAnswerBudget(clock);
  let draining = false;

  async function answerOnce<T>(
    key: string,
    ask: () => Promise<T>,
    isKept: (answer: T) => boolean,
  ): Promise<T | undefined> {
    // By then the lease of any other instance has run out, and its turn is free.
    const untilMs = clock.now() + EXCHANGE_LEASE_MS + REFRESH_LOOK_MS;
    let turn = await store.begin(key, clock.now());
    while (turn.state === 'under_way') {
      await pause(clock, REFRESH_LOOK_MS);
      // Never without a turn: to some providers a token that comes twice is a stolen one.
      if (draining || clock.now() > untilMs) return undefined;
      turn = await store.begin(key, clock.now());
    }
    if (turn.state === 'answered') return JSON.parse(turn.answer) as T;
    let kept: string | undefined;
    try {
      const answer = await ask();
      if (isKept(answer)) kept = reserve(JSON.stringify(answer));
      return answer;
    } finally {
      // What the provider gave must not be lost because it could not be kept.
      await store.settle(key, kept, clock.now()).catch(() => {});
    }
  }

  return {
    async answer<T>(key: string, ask: () => Promise<T>, isKept: (answer: T) => boolean) {
      const shared = underWay.get(key);
      if (shared !== undefined) return shared as Promise<T | undefined>;
      if (draining) return undefined;
      const own = answerOnce(key, ask, isKept).finally(() => underWay.delete(key));
      underWay.set(key, own);
      return own;
    },
    drain() {
      draining = true;
    },
    async settled() {
      await Promise.allSettled(underWay.values());
    },
  };
}

/** Bounds what is kept at a time, by number and size. Returns the answer, or undefined when it exceeds them. */
function createAnswerBudget(clock: Clock): (answer: string) => string | undefined {
  const expiries = createDeadlines(clock, REFRESH_ANSWER_MS);
  let answers = 0;
  let bytes = 0;
  return (answer) => {
    const size = Buffer.byteLength(answer);
    if (answers >= REFRESH_ANSWERS || bytes + size > REFRESH_ANSWERS_BYTES) return undefined;
    answers += 1;
    bytes += size;
    expiries.add(() => {
      answers -= 1;
      bytes -= size;
    });
    return answer;
  };
}
