/** Keeps the tokens of a signed-in user: an access token for whoever asks, and one refresh for all of them. */
import { another } from './ask.ts';
import { type Failure, fail } from './errors.ts';
import { attempt, type Call, type Done, type RequestOptions } from './platform.ts';
import { placeOf, signOut, signOuts } from './sign-out.ts';
import { addressOf, isText, type Place, refresh, store, type Tokens } from './tokens.ts';

type Stored = Tokens | undefined | null;

/** The storage of the app. In the TV build its functions return at once; elsewhere they may return a promise. */
export interface KeeperOptions extends Place, RequestOptions {
  load(): Stored | PromiseLike<Stored>;
  save(tokens: Tokens): unknown;
}

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

/** Runs something alone among all tabs or processes that use the same name, until `release` is called. */
export type Lock = (
  name: string,
  run: (release: () => void) => void,
  failed: (reason: unknown) => void,
) => void;

export function createKeeper(
  call: Call,
  options: KeeperOptions,
  lock: Lock = (_name, run) => run(() => {}),
): Keeper {
  const { now, later } = call.platform;
  const storage = openStorage(call, options);
  const name = `sign-in-relay ${addressOf(options.relay)} ${options.service}`;
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
    if (!tokens) settle(asking, failure);
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
      update(call, options, storage, isEnough, (failure, tokens) => {
        release();
        end(failure, tokens);
      });
    };
    lock(name, run, end);
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

  /** What one caller throws is not for the others. */
  function settle(asking: readonly Waiter[], failure: unknown, accessToken?: string): void {
    asking.forEach(({ done }) => {
      try {
        if (failure) done(failure);
        else done(undefined, accessToken);
      } catch (error) {
        later(0, () => {
          throw error;
        });
      }
    });
  }

  return get;
}

type Storage = ReturnType<typeof openStorage>;

/** The storage of the app, and what it could not take. */
function openStorage(call: Call, options: KeeperOptions) {
  /** The provider gave these for `spent`, which may be worth nothing now. */
  let unsaved: { readonly spent: string; readonly tokens: Tokens } | undefined;

  const load = (take: Done<Tokens>) =>
    attempt(
      () => options.load(),
      (failure, stored) => {
        if (!stored) return take(failure || fail('invalid_grant', 'There are no tokens'));
        const tokens = checked(stored);
        // Somebody has signed in since, or another process has saved its own.
        if (unsaved?.spent !== tokens.refreshToken) unsaved = undefined;
        take(undefined, unsaved ? unsaved.tokens : tokens);
      },
    );

  function save(spent: string, tokens: Tokens, done: Done<Tokens>): void {
    unsaved = { spent, tokens };
    store(
      another(call),
      // A save that failed is tried again, but not once the user has signed out.
      (given) => signOutOf(options, spent) || options.save(given),
      tokens,
      (failure, saved) => {
        if (saved) unsaved = undefined;
        const left = signOutOf(options, spent);
        if (!left) return done(failure, saved);
        // What has saved them may have ended later than what deleted the old ones.
        signOut(another(call), { ...left, tokens }, () => {});
        done(fail('invalid_grant', 'The user has signed out'));
      },
    );
  }

  return {
    load,
    save,
    isBehind: () => !!unsaved,
    saveAgain: (tokens: Tokens, done: Done<Tokens>) => save(unsaved?.spent ?? '', tokens, done),
  };
}

/**
 * Refreshes what is stored, unless that is enough once it was read: with the lock held it
 * may be what another process has just saved. A failure comes with the tokens that are stored.
 */
function update(
  call: Call,
  options: KeeperOptions,
  storage: Storage,
  isEnough: (tokens: Tokens) => boolean,
  done: Done<Tokens>,
): void {
  const { relay, service } = options;

  const begin: Done<Tokens> = (failure, tokens) => {
    if (!tokens) return done(failure);
    if (storage.isBehind()) return storage.saveAgain(tokens, done);
    if (isEnough(tokens)) return done(undefined, tokens);
    const spent = tokens.refreshToken;
    if (!spent) return done(fail('invalid_grant', 'There is no refresh token'));
    // Some providers give the same one to a user who signs in again.
    if (signOutOf(options, spent)) signOuts[placeOf(options)] = undefined;
    refresh(another(call), { relay, service, tokens }, (reason, fresh) => {
      if (fresh) keep(spent, fresh);
      else if ((reason as Failure).code === 'invalid_grant') recheck(spent, reason, 0);
      else done(reason, tokens);
    });
  };

  /** Unless the user has signed out meanwhile, or as another user. */
  function keep(spent: string, fresh: Tokens): void {
    storage.load((failure, stored) => {
      const isGone = failure && (failure as Failure).code === 'invalid_grant';
      if (isGone || (stored && stored.refreshToken !== spent)) {
        const left = signOutOf(options, spent);
        if (left) signOut(another(call), { ...left, tokens: fresh, forget: undefined }, () => {});
        begin(failure, stored);
      } else storage.save(spent, fresh, done);
    });
  }

  /** A refresh token that is good for one use was perhaps used by another process: then its tokens are stored soon. */
  function recheck(spent: string, reason: unknown, nth: number): void {
    storage.load((failure, stored) => {
      const pauseMs = RECHECKS_MS[nth];
      if (!stored || stored.refreshToken !== spent) begin(failure, stored);
      else if (pauseMs === undefined) done(reason);
      else call.platform.later(pauseMs, () => recheck(spent, reason, nth + 1));
    });
  }

  storage.load(begin);
}

/** The user has signed out of these tokens, in this process. */
function signOutOf(place: Place, refreshToken: string) {
  const found = signOuts[placeOf(place)];
  return found?.tokens.refreshToken === refreshToken ? found : undefined;
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

/** Storages are edited by hand, and written by older versions of the app: a member of another type is as if it were not there. */
function checked(stored: object): Tokens {
  const tokens: Record<string, unknown> = { accessToken: '' };
  for (const name in stored) {
    const value = stored[name as never] as unknown;
    const isGood = /^expires/.test(name)
      ? typeof value === 'number'
      : !/^(accessToken|refreshToken|tokenUrl|clientId|revocationUrl)$/.test(name) || isText(value);
    if (isGood) tokens[name] = value;
  }
  return tokens as object as Tokens;
}
