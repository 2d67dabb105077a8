/** One process or tab at a time refreshes the tokens of a session. */
import { SignInError } from './errors.ts';
import type { Platform } from './platform.ts';
import type { SessionStorage } from './storage.ts';

/** Runs a function while no other process that shares the storage does. Rejects with its error. */
export type Lock = (run: () => Promise<void>) => Promise<void>;

/** How long to wait for the lock: longer than the minute for which its holder tries a refresh. */
const LOCK_MS = 75_000;
/** A write to localStorage reaches other tabs a moment later, even one that has the lock by then. */
const LAG_MS = 250;

/** The storage's own lock, or the browser's. There is none in pages that may not use it. */
export const lockFor =
  (platform: Platform, items: SessionStorage, key: string): Lock =>
  (run) =>
    new Promise((resolve, reject) => {
      let isGivenUp = false;
      const fail = (code: 'busy' | 'storage_failed', detail: string, cause?: unknown) => {
        isGivenUp = true;
        cancelTimer();
        reject(new SignInError(code, detail, cause));
      };
      const late = () => fail('busy', 'Another process holds the lock');
      const cancelTimer = platform.later(LOCK_MS, late);
      const runAlone = () => {
        cancelTimer();
        // A run after the time limit has no caller any more, and could spend a refresh token.
        return isGivenUp ? Promise.resolve() : run().then(resolve, reject);
      };
      const lag = () => new Promise<void>((end) => void platform.later(LAG_MS, end));
      const runAndWait = () => runAlone().then(lag);
      const take = async () => {
        const { locks } = globalThis.navigator || {};
        if (items.lock) await items.lock(key, runAlone);
        else await (locks ? locks.request(key, runAndWait).catch(runAlone) : runAlone());
      };
      take().catch((cause) => fail('storage_failed', 'The storage failed to lock', cause));
    });
