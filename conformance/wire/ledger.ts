/** The sessions that live in the target because of us: what the cap has to reckon with. */

import type { Source } from './sources.ts';

export interface Session {
  readonly service: string;
  /** The poll secret. */
  readonly secret: string;
  /** The browser state, as the link gives it; empty while only the user code is known. */
  readonly state: string;
  /** Where one was asked for. */
  readonly userCode?: string;
  readonly url: string;
  readonly expiresIn: number;
  readonly from: Source;
  /** Its result may stay after it was delivered, and so does the session. */
  readonly mayStay?: boolean;
}

export interface Ledger {
  add(session: Session): void;
  remove(secret: string): void;
  /** Removes it, unless it may stay. */
  deliver(secret: string): void;
  readonly sessions: readonly Session[];
}

export function createLedger(parent?: Ledger): Ledger {
  const sessions = new Map<string, Session>();
  return {
    add(session) {
      sessions.set(session.secret, session);
      parent?.add(session);
    },
    remove(secret) {
      sessions.delete(secret);
      parent?.remove(secret);
    },
    deliver(secret) {
      if (!sessions.get(secret)?.mayStay) this.remove(secret);
    },
    get sessions() {
      return [...sessions.values()];
    },
  };
}
