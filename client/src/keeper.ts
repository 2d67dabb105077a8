/** The access token for whoever asks, and one refresh for all of them. */
import { another } from './ask.ts';
import { type Failure, fail } from './errors.ts';
import { type Call, type Done, tellApp } from './platform.ts';
import { revoke } from './revoke.ts';
import type { Era, Storage } from './storage.ts';
import { type Place, refresh, type Tokens } from './tokens.ts';

/** Tokens are refreshed so long before they expire, but not in the first half of their life. */
const EARLY_MS = 60_000;
/** Whoever has this lock tries a refresh for a minute. */
const LOCK_MS = 75_000;
/** Another process has got the new tokens, and is about to save them. */
const RECHECKS_MS = [500, 1_000, 2_000];
/** After a refresh that failed, while the token is still valid. */
const PAUSE_MS = 10_000;

/** Called with the access token, or with why there is none. Returns what ends the waiting, not the refresh. */
export type Keeper = (done: Done<string>, rejected?: string) => () => void;

interface Waiter {
  done: Done<string>;
  /** The access token that the API did not accept. */
  readonly rejected: string | undefined;
}

/** Runs something alone among all processes that share the storage, until `release` is called. */
export type Lock = (run: (release: () => void) => void, failed: (reason: unknown) => void) => void;

export const noTokens = () => fail('invalid_grant', 'Nobody is signed in');

export function createKeeper(
  call: Call,
  place: Place,
  storage: Storage,
  lock: Lock,
  onRefreshed: () => void,
): Keeper {
  const { now, later } = call.platform;
  /** Who asked since the storage was last read. */
  let looking: Waiter[] = [];
  /** Who needs another token than the stored one. */
  let waiting: Waiter[] = [];
  let isRefreshing = false;
  let pausedUntilMs = 0;

  function get(done: Done<string>, rejected?: string): () => void {
    const waiter: Waiter = { done, rejected };
    if (looking.push(waiter) === 1) storage.load(look);
    return () => {
      waiter.done = () => {};
    };
  }

  function look(failure: unknown, tokens?: Tokens): void {
    const asking = looking;
    looking = [];
    if (!tokens) settle(asking, failure || noTokens());
    else {
      waiting = waiting.concat(asking);
      if (!isEnough(tokens) && (waiting.length || now() >= pausedUntilMs)) refreshOnce();
    }
  }

  /** Gives the token to all who can use it. False: it has to be refreshed. */
  function isEnough(tokens: Tokens): boolean {
    const isServed = ({ rejected }: Waiter) => !storage.isBehind() && isValid(tokens, rejected);
    const served = waiting.filter(isServed);
    waiting = waiting.filter((waiter) => !isServed(waiter));
    settle(served, undefined, tokens.accessToken);
    return !waiting.length && !isEnding(tokens);
  }

  function refreshOnce(): void {
    if (isRefreshing) return;
    isRefreshing = true;
    let isOver = false;
    const end = (failure: unknown, tokens?: Tokens) => {
      if (isOver) return;
      isOver = true;
      cancelTimer();
      finish(failure, tokens);
    };
    const cancelTimer = later(LOCK_MS, () =>
      end(fail('busy', `Another process has had the lock for ${LOCK_MS / 1_000} s`)),
    );
    const run = (release: () => void) => {
      if (isOver) return release();
      cancelTimer();
      update((failure, tokens) => {
        release();
        end(failure, tokens);
      });
    };
    lock(run, end);
  }

  function finish(failure: unknown, tokens?: Tokens): void {
    const asking = waiting;
    waiting = [];
    isRefreshing = false;
    if (failure) pausedUntilMs = now() + PAUSE_MS;
    asking.forEach((waiter) => {
      // With a failure: a token that perhaps works is better than nothing, while nobody can refresh it.
      const isUsable =
        tokens && (!failure || (tokens.accessToken !== waiter.rejected && leftMs(tokens) > 0));
      settle([waiter], isUsable ? undefined : failure, tokens?.accessToken);
    });
  }

  const settle = (asking: readonly Waiter[], failure: unknown, accessToken?: string) =>
    asking.forEach(({ done }) => {
      tellApp(call.platform, () => (failure ? done(failure) : done(undefined, accessToken)));
    });

  /**
   * Refreshes what is stored, unless that is enough once it was read: with the lock held it
   * may be what another process has just saved. A failure comes with the tokens that are stored.
   */
  function update(done: Done<Tokens>): void {
    const begin: Done<Tokens> = (failure, tokens) => {
      const era = storage.era();
      if (!tokens) return done(failure || noTokens());
      if (storage.isBehind()) return storage.save(tokens, era, saved);
      if (isEnough(tokens)) return done(undefined, tokens);
      const spent = tokens.refreshToken;
      if (!spent) return done(fail('invalid_grant', 'There is no refresh token'));
      refresh(another(call), { ...place, tokens }, (reason, fresh) => {
        if (fresh) keep(era, spent, fresh);
        else if ((reason as Failure).code === 'invalid_grant') recheck(spent, reason, 0);
        else done(reason, tokens);
      });
    };

    function saved(failure: unknown, tokens?: Tokens): void {
      if (!failure && !tokens) storage.load(begin);
      else done(failure, failure ? undefined : tokens);
    }

    /** Saves the tokens, unless the user has signed out since, here or in another process, or has signed in again. */
    function keep(era: Era, spent: string, fresh: Tokens): void {
      storage.load((failure, stored) => {
        const isReplaced = stored ? stored.refreshToken !== spent : !failure;
        const isOver = era !== storage.era() || isReplaced;
        if (!isOver) {
          onRefreshed();
          storage.save(fresh, era, (reason, kept) => {
            if (era.isSignedOut) undo(fresh);
            saved(reason, kept);
          });
          return;
        }
        if (era.isSignedOut || !(stored || failure)) undo(fresh);
        begin(failure, stored);
      });
    }

    /** A refresh token that is good for one use was perhaps used by another process: then its tokens are stored soon. */
    function recheck(spent: string, reason: unknown, nth: number): void {
      storage.load((failure, stored) => {
        const pauseMs = RECHECKS_MS[nth];
        if (!stored || stored.refreshToken !== spent) begin(failure, stored);
        else if (pauseMs === undefined) done(reason);
        else later(pauseMs, () => recheck(spent, reason, nth + 1));
      });
    }

    storage.load(begin);
  }

  /** Nobody has these tokens any more. */
  const undo = (tokens: Tokens) => revoke(another(call), place, tokens, () => {});

  return get;
}

const leftMs = ({ expiresAt = 1 / 0 }: Tokens) => expiresAt - Date.now();
const earlyMs = ({ expiresIn = 1 / 0 }: Tokens) => Math.min(EARLY_MS, expiresIn * 500);

const isEnding = (tokens: Tokens) => !!tokens.refreshToken && leftMs(tokens) <= earlyMs(tokens);

function isValid(tokens: Tokens, rejected: string | undefined): boolean {
  const { accessToken, expiresIn = 1 / 0 } = tokens;
  const left = leftMs(tokens);
  // Further away than it ever was: the clock was set back, and says nothing.
  const isClockGood = left <= expiresIn * 1_000 + earlyMs(tokens);
  return !!accessToken && accessToken !== rejected && left > 0 && isClockGood;
}
