/** What a session keeps: the tokens, and the sign-in that has not ended, each under a key of its own. */
import { isObject, parse } from './ask.ts';
import { SignInError, visible } from './errors.ts';
import { type Platform, sleep } from './platform.ts';
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

type Remove = (this: SessionStorage, key: string) => unknown;

/** Which relay, which of its services, and which of the app's accounts there. */
export interface Owner extends Place {
  /** For an app with several accounts of one service. */
  readonly account?: string | undefined;
}

/** With letters, digits, `.`, `-` and `_` alone, as SecureStore demands. A part has no two `_` in a row. */
export const keyOf = ({ relay, service, account }: Owner): string =>
  ['sign-in-relay', addressOf(relay).replace(/^https:\/\//, ''), service, account]
    .filter((part) => part !== undefined)
    .map((part) => `${part}`.replace(/[^\w.-]|_/g, (other) => `_${other.charCodeAt(0)}-`))
    .join('__');

/** Storage that ends with the process. */
export function createMemory(): SessionStorage {
  const items: Record<string, string> = {};
  return {
    getItem: (key) => items[key],
    setItem(key, value) {
      items[key] = value;
    },
    removeItem: (key) => delete items[key],
  };
}

/** Four tries, with pauses that double: less than the minute for which the relay keeps a result. */
const SAVE_PAUSE_MS = 500;
const LONGEST_SAVE_PAUSE_MS = 2_000;
/** Of a stored reason: one sentence, which is written into logs. */
const MAX_REASON = 400;

/** Nothing: nobody is signed in. */
export interface Found {
  readonly tokens?: Tokens | undefined;
  /** Why the provider ended what was there before. */
  readonly ended?: string | undefined;
  /** Of the sign-in that has not ended, if there are no tokens. */
  readonly unfinished?: Stored;
}

/** That of one session in one process. What fails rejects with `storage_failed`. */
export function openStorage(
  platform: Platform,
  items: SessionStorage,
  key: string,
  ownTokenUrl: string | undefined,
) {
  const unfinishedKey = `unfinished-${key}`;
  let last: Promise<unknown> = Promise.resolve();

  /** Runs one after the other, so that nothing is read before, or written after, what was to replace it. */
  function inTurn<Value>(verb: string, run: () => Value | PromiseLike<Value>): Promise<Value> {
    const done = last.then(run).catch((cause) => {
      throw new SignInError('storage_failed', `The storage failed to ${verb}`, cause);
    });
    last = done.catch(() => {});
    return done;
  }

  const get = (name: string) => inTurn('read', () => items.getItem(name));
  const { removeItem, deleteItemAsync } = items as {
    removeItem?: Remove;
    deleteItemAsync?: Remove;
  };
  const remove = (name: string) =>
    inTurn('delete', () => (removeItem || deleteItemAsync)?.call(items, name));

  /** Tries four times to save the tokens, or why there are none, as long as they are what counts. */
  const save = (
    value: object,
    isCurrent: () => boolean,
    pauseMs = SAVE_PAUSE_MS,
  ): Promise<unknown> =>
    inTurn('write', () => isCurrent() && items.setItem(key, JSON.stringify(value))).catch(
      (error) => {
        if (pauseMs > LONGEST_SAVE_PAUSE_MS) throw error;
        return sleep(platform, pauseMs).then(() => save(value, isCurrent, pauseMs * 2));
      },
    );

  return {
    /** All of it, as far as it counts. */
    read: (): Promise<Found> =>
      get(key).then((text) => {
        const stored = parse(text);
        const { ended } = Object(stored);
        const tokens = isObject(stored) ? storedTokens(stored, ownTokenUrl) : undefined;
        if (tokens) return { tokens };
        const reason = typeof ended === 'string' ? visible(ended.slice(0, MAX_REASON)) : undefined;
        return get(unfinishedKey).then((unfinished) => ({ ended: reason, unfinished }));
      }),
    save,
    clear: () => remove(key),
    unfinished: {
      read: () => get(unfinishedKey),
      save: (text: string) => inTurn('write', () => items.setItem(unfinishedKey, text)),
      /** What is left of it is of no use. */
      remove: () => remove(unfinishedKey).catch(() => {}),
    },
  };
}
