/** Refreshes. The result is sealed under the token that was sent. */
import { EXCHANGE_LEASE_MS, REFRESH_RESULT_MS } from '../../limits.ts';
import type { RefreshStore } from '../../sign-ins/refreshes.ts';
import type { RandomBytes } from '../../sign-ins/secrets.ts';
import type { Clock } from '../../sign-ins/time.ts';
import { deriveFromRefresh, openRefresh, sealRefresh } from '../sealing.ts';
import type { Rows } from './rows.ts';

const REFRESH_ROWS = 'refresh';

export function createSqliteRefreshStore(
  rows: Rows,
  clock: Clock,
  randomBytes: RandomBytes,
): RefreshStore {
  /** `sealed` is empty while the refresh is in progress. */
  const write = (id: string, untilMs: number, sealed: string) =>
    rows.write(REFRESH_ROWS, id, `${untilMs}.${sealed}`, untilMs);
  return {
    begin(key) {
      const refresh = deriveFromRefresh(key);
      const [untilMs = '0', sealed = ''] = rows.read(REFRESH_ROWS, refresh.id)?.split('.') ?? [];
      if (clock.now() <= Number(untilMs)) {
        if (sealed === '') return { state: 'in_progress' };
        return { state: 'finished', result: openRefresh(refresh, sealed) };
      }
      write(refresh.id, clock.now() + EXCHANGE_LEASE_MS, '');
      return { state: 'yours' };
    },
    finish(key, result) {
      const refresh = deriveFromRefresh(key);
      if (result === undefined) return rows.remove(REFRESH_ROWS, refresh.id);
      const sealed = sealRefresh(refresh, result, randomBytes);
      write(refresh.id, clock.now() + REFRESH_RESULT_MS, sealed);
    },
  };
}
