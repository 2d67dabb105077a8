/** What a session keeps: the tokens, and the sign-in that has not ended, each under a key of its own. */
import { isObject, parse } from './ask.ts';
import { fail } from './errors.ts';
import { attempt, type Done, type Platform } from './platform.ts';
import { addressOf, type Place, storedTokens, type Tokens } from './tokens.ts';

type Stored = string | null | undefined;

interface Items {
  getItem(key: string): Stored | PromiseLike<Stored>;
  setItem(key: string, value: string): unknown;
  /**
   * Runs `run` alone among all processes that share this storage, until its promise is settled.
   * Not given: `navigator.locks`, for the tabs and workers of a browser.
   */
  lock?(key: string, run: () => Promise<void>): unknown;
}

/** `localStorage`, AsyncStorage or SecureStore as they are, or anything like them. Its functions may return promises. */
export type SessionStorage = Items &
  ({ removeItem(key: string): unknown } | { deleteItemAsync(key: string): unknown });

interface Removing {
  removeItem?(key: string): unknown;
  deleteItemAsync?(key: string): unknown;
}

/** Which relay, which of its services, and which of the app's accounts there. */
export interface Owner extends Place {
  /** For an app with several accounts of one service. */
  readonly account?: string | undefined;
}

/** With letters, digits, `.`, `-` and `_` alone, as SecureStore demands. A part has no two `_` in a row. */
export const keyOf = ({ relay, service, account }: Owner): string =>
  ['sign-in-relay', addressOf(relay).replace(/^https:\/\//, ''), service, account]
    .filter((part) => part !== undefined)
    .map((part) =>
      encodeURIComponent(part)
        .replace(/[_!'()*~]/g, (other) => `%${other.charCodeAt(0).toString(16)}`)
        .replace(/%/g, '_'),
    )
    .join('__');

/** Storage that ends with the process. */
export function createMemory(): SessionStorage {
  const items: Record<string, string> = {};
  return {
    getItem: (key) => items[key],
    setItem(key, value) {
      items[key] = value;
    },
    removeItem(key) {
      delete items[key];
    },
  };
}

/** With pauses of half a second, one and two between them: less than the minute for which the relay keeps a result. */
const SAVE_TRIES = 4;
const SAVE_PAUSE_MS = 500;

/** Tokens of one sign-in and of what they were refreshed to. It ends with a sign-out, or the next sign-in. */
export interface Era {
  isSignedOut?: boolean;
}

export type Storage = ReturnType<typeof openStorage>;

/** That of one session in one process. */
export function openStorage(
  { later }: Platform,
  items: SessionStorage,
  key: string,
  ownTokenUrl: string | undefined,
  onSaved: () => void,
) {
  const unfinishedKey = `unfinished-${key}`;
  const turns: (() => void)[] = [];
  let era: Era = {};
  /** The stored refresh token, when it was last read or written. */
  let known: string | undefined;
  /** What could not be stored yet, while the storage still has the refresh token `before`. */
  let unsaved: { readonly before: string | undefined; readonly tokens: Tokens } | undefined;

  /** Runs one after the other, so that nothing is read before, or written after, what was to replace it. */
  function inTurn<Value>(run: () => Value | PromiseLike<Value>, done: Done<Value>): void {
    const next = () =>
      attempt(run, (failure, value) => {
        turns.shift();
        turns[0]?.();
        done(failure, value);
      });
    if (turns.push(next) === 1) next();
  }

  const remove = (name: string) => () => {
    const own = items as Removing;
    return own.removeItem ? own.removeItem(name) : own.deleteItemAsync?.(name);
  };

  const failed = (cause: unknown, what: string) =>
    fail('storage_failed', `The storage failed to ${what}`, cause);

  /** Without a failure and without tokens: nobody is signed in. */
  function load(done: Done<Tokens>): void {
    inTurn(
      () => items.getItem(key),
      (failure, text) => {
        const stored = parse(text);
        const tokens = isObject(stored) ? storedTokens(stored, ownTokenUrl) : undefined;
        if (failure) return done(failed(failure, 'read'), unsaved?.tokens);
        known = tokens?.refreshToken;
        // Another process has saved its own.
        if (unsaved && unsaved.before !== known) unsaved = undefined;
        done(undefined, unsaved ? unsaved.tokens : tokens);
      },
    );
  }

  /** Tries four times. Tokens of an era that is over by then are not stored: `done` gets neither a failure nor tokens. */
  function save(tokens: Tokens, of: Era, done: Done<Tokens>): void {
    if (of !== era) {
      done(undefined);
      return;
    }
    unsaved = { before: known, tokens };
    const trySave = (nth: number) =>
      inTurn(
        () => of === era && items.setItem(key, JSON.stringify(tokens)),
        (cause) => {
          if (of !== era) return done(undefined);
          if (cause && nth < SAVE_TRIES) {
            later(SAVE_PAUSE_MS * 2 ** (nth - 1), () => trySave(nth + 1));
            return;
          }
          if (!cause) {
            unsaved = undefined;
            known = tokens.refreshToken;
            onSaved();
          }
          done(cause && failed(cause, 'save the tokens'), tokens);
        },
      );
    trySave(1);
  }

  return {
    load,
    save,
    era: () => era,
    /** The tokens that `load` gives are not stored yet. */
    isBehind: () => !!unsaved,
    /** Saves the tokens of a new sign-in: the result of a refresh that is in progress is of no use any more. */
    replace(tokens: Tokens, done: Done<Tokens>): void {
      era = {};
      save(tokens, era, done);
    },
    /** What is being refreshed or saved is not stored any more. */
    end(): void {
      era.isSignedOut = true;
      era = {};
      unsaved = undefined;
    },
    clear(done: Done<unknown>): void {
      inTurn(remove(key), (failure) => done(failure && failed(failure, 'delete the tokens')));
    },
    unfinished: {
      load: (done: Done<Stored>) =>
        inTurn(
          () => items.getItem(unfinishedKey),
          (failure, state) => done(failure && failed(failure, 'read'), state),
        ),
      save: (state: string, done: Done<unknown>) =>
        inTurn(
          () => items.setItem(unfinishedKey, state),
          (failure) => done(failure && failed(failure, 'save the sign-in')),
        ),
      remove: (done: () => void) => inTurn(remove(unfinishedKey), done),
    },
  };
}
