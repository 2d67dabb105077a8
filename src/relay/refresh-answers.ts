/**
 * One refresh, however often it is asked for: a refresh token may be good for a
 * single use (RFC 6749 §6), and a device that lost the answer asks again. Known
 * by the token that was sent; of it a store keeps at most a digest.
 */
import { EXCHANGE_LEASE_MS, REFRESH_LOOK_MS } from '../limits.ts';
import { type Clock, pause } from './clock.ts';

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
  /** Throws away what has expired. */
  sweep(nowMs: number): Promise<void>;
}

export interface RefreshAnswers {
  /**
   * Runs `ask` once for all callers with one key at a time, and gives each of
   * them its answer; for REFRESH_ANSWER_MS after it also those who come later,
   * where `isKept` says that it is worth keeping. Undefined when nobody may ask
   * any more: the token is not spent.
   */
  answer<T>(
    key: string,
    ask: () => Promise<T>,
    isKept: (answer: T) => boolean,
  ): Promise<T | undefined>;
  /** Lets nobody ask any more. */
  drain(): void;
  /** Resolves when those that are under way have their answer. */
  settled(): Promise<void>;
}

export function createRefreshAnswers(store: RefreshAnswerStore, clock: Clock): RefreshAnswers {
  const underWay = new Map<string, Promise<unknown>>();
  let draining = false;

  async function answerOnce<T>(
    key: string,
    ask: () => Promise<T>,
    isKept: (answer: T) => boolean,
  ): Promise<T> {
    const untilMs = clock.now() + EXCHANGE_LEASE_MS;
    for (;;) {
      const turn = await store.begin(key, clock.now());
      if (turn.state === 'answered') return JSON.parse(turn.answer) as T;
      // Past the lease whoever had the turn is dead, and the next to ask has it.
      if (turn.state === 'yours' || clock.now() > untilMs) break;
      await pause(clock, REFRESH_LOOK_MS);
    }
    const answer = await ask();
    const kept = isKept(answer) ? JSON.stringify(answer) : undefined;
    // What the provider gave must not be lost because it could not be kept.
    await store.settle(key, kept, clock.now()).catch(() => {});
    return answer;
  }

  return {
    async answer<T>(key: string, ask: () => Promise<T>, isKept: (answer: T) => boolean) {
      const shared = underWay.get(key);
      if (shared !== undefined) return shared as Promise<T>;
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
