/**
 * What a relay must do, as a model that holds nothing but sessions and polls (docs/protocol.md
 * §2 to §5, docs/extensions.md). It shares no code with the relay. Each event returns what the
 * parked polls of the session are then answered.
 */

export const SESSION_MS = 600_000;
/** How long a device that acknowledges may ask again. */
export const REPEAT_MS = 60_000;
/** How long an exchange holds its session. */
export const LEASE_MS = 20_000;
export const POLL_MS = 50_000;

/** What a poll is answered: the status, and the body of a 200. */
export type Answer = '204' | '410' | 'opened' | `200 ${string}`;

export interface Poll {
  readonly session: ModelSession;
  readonly wantsProgress: boolean;
  readonly dueAtMs: number;
}

/** One of them gets the first answer, the others get the other one. Undefined: they stay parked. */
export interface Answered {
  readonly polls: readonly Poll[];
  readonly one: Answer;
  readonly others: Answer | undefined;
}

export class ModelSession {
  state: 'pending' | 'exchanging' | 'completed' | 'delivered' | 'cancelled' | 'gone' = 'pending';
  result = '';
  /** The last millisecond of the session, or of the time in which its result is repeated. */
  endsAtMs: number;
  leaseEndsAtMs = Number.POSITIVE_INFINITY;
  isOpened = false;
  isReported = false;

  constructor(
    readonly startedAtMs: number,
    readonly service: string,
    /** Its result is repeated for a while, until the device acknowledges it. */
    readonly hasAck: boolean,
  ) {
    this.endsAtMs = startedAtMs + SESSION_MS;
  }
}

/** When a poll is answered at the latest. */
function endOf({ session, dueAtMs }: Poll): number {
  const { state, startedAtMs, leaseEndsAtMs } = session;
  const leaseEndMs = state === 'exchanging' ? leaseEndsAtMs : Number.POSITIVE_INFINITY;
  return Math.min(dueAtMs, leaseEndMs + 1, startedAtMs + SESSION_MS + 1);
}

export class Model {
  nowMs: number;
  readonly sessions: ModelSession[] = [];
  readonly parked = new Set<Poll>();

  constructor(startMs: number) {
    this.nowMs = startMs;
  }

  /** Those that count against the limit. */
  countLive(): number {
    return this.sessions.filter((each) => this.#stateOf(each) !== 'gone').length;
  }

  start(service: string, hasAck: boolean): ModelSession {
    const session = new ModelSession(this.nowMs, service, hasAck);
    this.sessions.push(session);
    return session;
  }

  isPending(session: ModelSession): boolean {
    return this.#stateOf(session) === 'pending';
  }

  /** The user is redirected to the provider. */
  open(session: ModelSession): Answered | undefined {
    if (!this.isPending(session) || session.isOpened) return undefined;
    session.isOpened = true;
    const polls = this.#parkedOf(session).filter(({ wantsProgress }) => wantsProgress);
    if (polls.length === 0) return undefined;
    session.isReported = true;
    return { polls, one: 'opened', others: undefined };
  }

  /** Whether the code goes to the provider. */
  lease(session: ModelSession): boolean {
    if (!this.isPending(session)) return false;
    session.state = 'exchanging';
    session.leaseEndsAtMs = this.nowMs + LEASE_MS;
    return true;
  }

  /** The provider has answered, or has refused. Undefined: too late, or not the time for it. */
  complete(
    session: ModelSession,
    result: string,
    from: 'pending' | 'exchanging',
  ): Answered | undefined {
    if (this.#stateOf(session) !== from) return undefined;
    session.state = 'completed';
    session.result = result;
    const polls = this.#parkedOf(session);
    if (polls.length === 0) return { polls, one: '204', others: '204' };
    const one = this.#deliver(session);
    return { polls, one, others: session.hasAck ? one : '410' };
  }

  cancel(session: ModelSession): { status: 204 | 410; answered: Answered | undefined } {
    const state = this.#stateOf(session);
    if (state === 'gone' || state === 'delivered') return { status: 410, answered: undefined };
    session.state = 'cancelled';
    const polls = this.#parkedOf(session);
    return { status: 204, answered: { polls, one: '410', others: '410' } };
  }

  /** It is reported to the device that the link was opened, or that response is lost. */
  consumeOpenedEvent(session: ModelSession): boolean {
    const state = this.#stateOf(session);
    const isPending = state === 'pending' || state === 'exchanging';
    if (!isPending || !session.isOpened || session.isReported) return false;
    session.isReported = true;
    return true;
  }

  acknowledge(session: ModelSession): 204 | 410 {
    const state = this.#stateOf(session);
    if (state === 'gone' || state === 'cancelled') return 410;
    if (state === 'delivered') session.state = 'gone';
    return 204;
  }

  /** Undefined: it is parked. */
  poll(session: ModelSession, waitMs: number, wantsProgress: boolean): Answer | Poll {
    const state = this.#stateOf(session);
    if (state !== 'pending' && state !== 'exchanging') return this.#take(session, state);
    if (wantsProgress && this.consumeOpenedEvent(session)) return 'opened';
    if (waitMs === 0) return '204';
    const poll = { session, wantsProgress, dueAtMs: this.nowMs + waitMs };
    this.parked.add(poll);
    return poll;
  }

  /** When something happens next by itself. */
  nextMs(): number {
    const ends = [...this.parked].map(endOf);
    return Math.min(Number.POSITIVE_INFINITY, ...ends);
  }

  /** Answers the polls that end at this moment. */
  advanceTo(nowMs: number): Answered[] {
    this.nowMs = nowMs;
    const ending = [...this.parked].filter((poll) => endOf(poll) <= nowMs);
    return [...Map.groupBy(ending, ({ session }) => session)].map(([session, polls]) => {
      // At its end a poll looks once more: the relay that held the lease may be gone.
      const state = this.#stateOf(session);
      const isPending = state === 'pending' || state === 'exchanging';
      const one = isPending ? '204' : this.#take(session, state);
      const isTakenOnce = state === 'completed' && !session.hasAck;
      return { polls, one, others: isTakenOnce ? '410' : one };
    });
  }

  /** The store has lost everything. */
  forgetAll(): void {
    for (const session of this.sessions) session.endsAtMs = Number.NEGATIVE_INFINITY;
  }

  countParked(session: ModelSession): number {
    return this.#parkedOf(session).length;
  }

  #parkedOf(session: ModelSession): Poll[] {
    return [...this.parked].filter((poll) => poll.session === session);
  }

  #take(session: ModelSession, state: ModelSession['state']): Answer {
    if (state === 'completed') return this.#deliver(session);
    return state === 'delivered' ? `200 ${session.result}` : '410';
  }

  #deliver(session: ModelSession): Answer {
    session.state = session.hasAck ? 'delivered' : 'gone';
    if (session.hasAck) session.endsAtMs = this.nowMs + REPEAT_MS;
    return `200 ${session.result}`;
  }

  #stateOf(session: ModelSession): ModelSession['state'] {
    if (this.nowMs > session.endsAtMs) return 'gone';
    if (session.state === 'exchanging' && this.nowMs > session.leaseEndsAtMs) {
      session.state = 'completed';
      session.result = 'exchange_failed';
    }
    return session.state;
  }
}
