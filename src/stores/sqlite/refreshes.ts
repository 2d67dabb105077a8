/** Refreshes. The result is sealed under the token that was sent. */
import { EXCHANGE_LEASE_MS, REFRESH_RESULT_MS } from '../../limits.ts';
import type { RefreshStore } from '../../relay/refresh.ts';
import type { RandomBytes } from '../../relay/secrets.ts';
import type { Clock } from '../../relay/time.ts';
import { deriveFromRefresh, openRefresh, sealRefresh } from '../sealing.ts';
import type { Rows } from './rows.ts';

const REFRESH_ROWS = 'refresh';

interface KeptRefresh {
  /** Absent while the refresh is in progress. */
  readonly sealed?: string;
  readonly untilMs: number;
}

export function createSqliteRefreshStore(
  rows: Rows,
  clock: Clock,
  randomBytes: RandomBytes,
): RefreshStore {
  const write = (id: string, refresh: KeptRefresh) =>
    rows.write(REFRESH_ROWS, id, refresh, refresh.untilMs);
  return {
    begin(key) {
      const refresh = deriveFromRefresh(key);
      const kept = rows.read(REFRESH_ROWS, refresh.id) as KeptRefresh | undefined;
      if (kept !== undefined && clock.now() <= kept.untilMs) {
        if (kept.sealed === undefined) return { state: 'in_progress' };
        return { state: 'finished', result: openRefresh(refresh, kept.sealed) };
      }
      write(refresh.id, { untilMs: clock.now() + EXCHANGE_LEASE_MS });
      return { state: 'yours' };
    },
    finish(key, result) {
      const refresh = deriveFromRefresh(key);
      if (result === undefined) return rows.remove(REFRESH_ROWS, refresh.id);
      const sealed = sealRefresh(refresh, result, randomBytes);
      write(refresh.id, { sealed, untilMs: clock.now() + REFRESH_RESULT_MS });
    },
  };
}
