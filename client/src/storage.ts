/** What a session stores: the tokens, and an unfinished sign-in, under two keys. */
import { parse } from './ask.ts';
import { SignInError, visible } from './errors.ts';
import { ownTokenUrl, type StartOptions } from './link.ts';
import { type Platform, within } from './platform.ts';
import { addressOf, type RelayService, storedTokens } from './tokens.ts';

type Stored = string | null | undefined;

/** `localStorage` or AsyncStorage as they are, or anything like them. Its functions may return promises. */
export interface SessionStorage {
  getItem(key: string): Stored | PromiseLike<Stored>;
  setItem(key: string, value: string): unknown;
  removeItem(key: string): unknown;
  /**
   * Calls `run`, and holds a lock over all processes that share this storage until its promise settles.
   * Default: `navigator.locks`, for the tabs and workers of a browser.
   */
  lock?(key: string, run: () => Promise<void>): unknown;
}

/** What the tokens belong to: a service of a relay, and the app's account there. */
export interface Owner extends RelayService {
  /** Distinguishes several accounts of one service. */
  readonly account?: string | undefined;
}

/** SecureStore allows few characters, some file systems ignore case. No part has two `_` in a row. */
export const keyOf = ({ relay, service, account }: Owner): string =>
  ['sign-in-relay', addressOf({ relay }).replace(/^https:\/\//, ''), service, account]
    .filter((part) => part !== undefined)
    .map((part) => `${part}`.replace(/[^a-z\d.-]/g, (other) => `_${other.charCodeAt(0)}-`))
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

/** A keychain may ask its user first. If it never answers, the session must not hang. */
const ANSWER_MS = 30_000;
/** The longest stored reason: one sentence, which apps log. */
const MAX_REASON = 400;

/** Runs operations one by one, so that a write never follows the one that replaces it. Failures reject with `storage_failed`. */
export function createQueue(platform: Platform) {
  let last: Promise<unknown> = Promise.resolve();
  return <Value>(verb: string, run: () => Value | PromiseLike<Value>): Promise<Value> => {
    const start = () => within(platform, ANSWER_MS, Promise.resolve().then(run));
    const done = last.then(start).catch((cause) => {
      throw new SignInError('storage_failed', `The storage failed to ${verb}`, cause);
    });
    last = done.catch(() => {});
    return done;
  };
}

export function openStorage(
  platform: Platform,
  options: StartOptions,
  items: SessionStorage,
  key: string,
) {
  const unfinishedKey = `unfinished-${key}`;
  const inTurn = createQueue(platform);
  const remove = async (name: string) => items.removeItem(name);

  return {
    /**
     * The tokens. If there are none, why the provider ended the last session, and the unfinished
     * sign-in. Leaves out what is not valid. Reads in one turn, so that no write comes between.
     */
    read: () =>
      inTurn('read', async () => {
        const stored = Object(parse(await items.getItem(key)));
        const { ended } = stored;
        const tokens = storedTokens(stored, ownTokenUrl(options));
        if (tokens) return { tokens };
        return {
          ended: typeof ended === 'string' ? visible(ended.slice(0, MAX_REASON)) : undefined,
          unfinished: await items.getItem(unfinishedKey),
        };
      }),
    /** Stores what is current when its turn has come. */
    save<Value>(current: () => Value): Promise<Value> {
      let value: Value;
      const write = () => {
        value = current();
        return value && items.setItem(key, JSON.stringify(value));
      };
      return inTurn('write', write).then(() => value);
    },
    /** Overwrites what cannot be deleted, before anything reads it. */
    clear: () => inTurn('delete', () => remove(key).catch(() => items.setItem(key, '{}'))),
    unfinished: {
      read: () => inTurn('read', () => items.getItem(unfinishedKey)),
      save: (text: string) => inTurn('write', () => items.setItem(unfinishedKey, text)),
      /** Best effort: a leftover is harmless. */
      remove: () => inTurn('delete', () => remove(unfinishedKey)).catch(() => {}),
    },
  };
}
