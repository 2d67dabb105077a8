/** Sessions in rows, so that they survive the process, or an object of Cloudflare Workers. */
import type { Session } from '../../sign-ins/session.ts';
import { neededUntilMs } from '../../sign-ins/session.ts';
import type { Journal } from '../memory.ts';
import { readRecord, writeRecord } from '../record.ts';
import type { Rows } from './rows.ts';

const SESSION_ROWS = 'session';

export const createJournal = (rows: Rows): Journal => ({
  /**
   * Leaves out malformed rows, and rows of a newer version (after a rollback): those
   * users start again.
   */
  load: () => rows.readAll(SESSION_ROWS).flatMap(({ value }) => readRecord(value) ?? []),
  write: (session: Session) =>
    rows.write(SESSION_ROWS, session.ids.link, writeRecord(session), neededUntilMs(session)),
  remove: (session: Session) => rows.remove(SESSION_ROWS, session.ids.link),
});
