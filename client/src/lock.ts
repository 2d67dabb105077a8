/** One process or tab at a time refreshes the tokens of a session. */
import { SignInError } from './errors.ts';
import { type Platform, sleep } from './platform.ts';
import type { SessionStorage } from './storage.ts';

/** Runs a function while no other process that shares the storage does. Rejects with its error. */
export type Lock = (run: () => Promise<void>) => Promise<void>;

/** Longer than the minute for which the holder of the lock tries a refresh. */
const LOCK_MS = 75_000;
/** A tab sees what another one has written to localStorage a moment later, although it has the lock. */
const LAG_MS = 250;

/** The storage's own lock, or the browser's, which some pages may not use: then there is none. */
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
      const cancelTimer = platform.later(LOCK_MS, () =>
        fail('busy', 'Another process keeps the lock'),
      );
      const runAlone = () => {
        cancelTimer();
        // Once nobody waits for it, a run could only spend a refresh token.
        return isGivenUp ? Promise.resolve() : run().then(resolve, reject);
      };
      const runAndWait = () => runAlone().then(() => sleep(platform, LAG_MS));
      const take = async () => {
        const { locks } = globalThis.navigator || {};
        if (items.lock) await items.lock(key, runAlone);
        else await (locks ? locks.request(key, runAndWait).catch(runAlone) : runAlone());
      };
      take().catch((cause) => fail('storage_failed', 'The storage failed to lock', cause));
    });
