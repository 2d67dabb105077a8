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
      const fail = (code: 'busy' | 'storage_failed', detail: string, cause?: unknown) => {
        cancelTimer();
        reject(new SignInError(code, detail, cause));
      };
      const held = `Another process has had the lock for ${LOCK_MS / 1_000} s`;
      const cancelTimer = platform.later(LOCK_MS, () => fail('busy', held));
      const runAlone = () => {
        cancelTimer();
        return run().then(resolve, reject);
      };
      const runAndWait = () => runAlone().then(() => sleep(platform, LAG_MS));
      const take = async () => {
        const { locks } = globalThis.navigator || {};
        if (items.lock) await items.lock(key, runAlone);
        else await (locks ? locks.request(key, runAndWait).catch(runAlone) : runAlone());
      };
      take().catch((cause) => fail('storage_failed', 'The lock of the storage failed', cause));
    });
