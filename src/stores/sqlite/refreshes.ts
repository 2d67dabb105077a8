/** Refreshes: until when each is known, and its result, which is empty while it is in progress. */
import { EXCHANGE_LEASE_MS, REFRESH_RESULT_MS } from '../../limits.ts';
import type { RefreshStore } from '../../sign-ins/store.ts';
import type { Clock } from '../../sign-ins/time.ts';
import type { Rows } from './rows.ts';

const REFRESH_ROWS = 'refresh';

export function createSqliteRefreshStore(rows: Rows, clock: Clock): RefreshStore {
  function write(id: string, durationMs: number, result: string): void {
    const untilMs = clock.now() + durationMs;
    rows.write(REFRESH_ROWS, id, `${untilMs}.${result}`, untilMs);
  }
  return {
    begin(id) {
      const [untilMs = '0', result = ''] = rows.read(REFRESH_ROWS, id)?.split('.') ?? [];
      if (clock.now() <= Number(untilMs)) {
        return result === '' ? { state: 'in_progress' } : { state: 'finished', result };
      }
      write(id, EXCHANGE_LEASE_MS, '');
      return { state: 'yours' };
    },
    finish(id, result) {
      if (result === undefined) rows.remove(REFRESH_ROWS, id);
      else write(id, REFRESH_RESULT_MS, result);
    },
  };
}
