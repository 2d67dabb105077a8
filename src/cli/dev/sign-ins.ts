/**
 * The sign-ins of a dev relay: how each is to end, and what has happened to it. They are
 * observed in the session store, which both the relay's own protocol and the device grant use.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { formatUserCode } from '../../sign-ins/secrets.ts';
import type { Change, NewSession, Polled, Session, SessionResult } from '../../sign-ins/session.ts';
import type { Listener, Store } from '../../sign-ins/store.ts';
import { systemClock } from '../../sign-ins/time.ts';
import { openPlain, resultOf } from '../../stores/memory.ts';
import type { Plan } from './endings.ts';
import { say } from './output.ts';

const EXPIRED = 'it has expired';

/** One sign-in, with its scripted ending. The terminal shows each of its events, the page the latest one. */
export class DevSignIn {
  latest = '';
  isWaitingForUser = true;
  /** Why polls get a 410. Undefined while they do not. */
  ended: string | undefined;
  /** What the user has allowed, until its code is spent. RFC 6749 §4.1.3, RFC 7636 §4.4. */
  grant: Readonly<Record<'code' | 'user' | 'redirectUri' | 'challenge', string>> | undefined;

  constructor(
    readonly number: number,
    readonly session: NewSession,
    /** Undefined until it is chosen. */
    public plan: Plan | undefined,
    private readonly store: Store,
  ) {
    const { service, ids, redeliveryMs } = session;
    const asked = [ids.code && 'code', redeliveryMs && 'ack'].filter(Boolean);
    const who = this.deviceName === undefined ? 'a device' : `"${this.deviceName}"`;
    const how = asked.length > 0 ? `, with ${asked.join(' and ')}` : '';
    const ending = plan === undefined ? '' : `; it is planned to end as "${plan.ending}"`;
    this.note(`${who} started a sign-in at ${service}${how}${ending}`);
  }

  get deviceName(): string | undefined {
    const { deviceName } = this.session;
    return deviceName && openPlain(deviceName);
  }

  note(event: string): void {
    this.latest = event;
    say(event, this.number);
  }

  /** Ends the sign-in, perhaps earlier than the relay has promised. Parked polls get a 410. */
  expire(): void {
    if (this.ended !== undefined) return;
    this.ended = EXPIRED;
    this.note('the sign-in expired: its polls get 410, so start again');
    const { link } = this.session.ids;
    void this.store.update({ link }, () => ({ reply: undefined, notice: 'completed' }));
  }

  noteChange({ opening }: Session, { next, reply }: Change<unknown>, request?: DevRequest): void {
    if (next !== undefined) this.isWaitingForUser = false;
    if (isDelivery(reply)) {
      this.#noteDelivery(describeResult(resultOf(reply.session)), request);
    } else if (next?.state === 'pending' && opening === 'none') {
      this.note('the user is redirected to the provider');
    } else if (next?.state === 'completed') {
      this.note(describeCompletion(resultOf(next)));
    } else if (next?.state === 'ended') {
      this.note('the device acknowledged what it received');
    } else if (next?.state === 'cancelled') {
      this.ended ??= 'its device cancelled it';
      this.note('the device cancelled its sign-in');
    }
  }

  #noteDelivery(name: string, request: DevRequest | undefined): void {
    const isFirst = this.ended === undefined;
    this.ended ??= 'its result was delivered';
    if (this.plan?.ending === 'cut-off' && isFirst && request !== undefined) {
      request.isCut = true;
      this.note('the connection broke in the middle of the response');
      return;
    }
    const text = `the device received ${name}`;
    this.note(this.latest.startsWith(text) ? `${text} again` : text);
  }
}

function describeCompletion(result: SessionResult): string {
  if ('error' in result) return `the sign-in ended with ${result.error}`;
  return 'accessToken' in result
    ? 'the relay exchanged the code for tokens'
    : 'the relay has the code, which the device exchanges itself';
}

/** A code in a blind sign-in (docs/extensions.md), and in an open one. */
const describeResult = (result: SessionResult) =>
  'error' in result ? result.error : 'accessToken' in result ? 'tokens' : 'a code';

const isDelivery = (reply: unknown): reply is Extract<Polled, { readonly state: 'delivered' }> =>
  Object(reply).state === 'delivered';

/** The request that is being handled: what the store must know of it, and what the store reports. */
export interface DevRequest {
  /** The plan of the sign-in that it starts. */
  readonly plan: Plan | undefined;
  started?: DevSignIn;
  /** Set if the start was refused as planned. */
  isRefused?: true;
  /** Set if the connection must break in the middle of the response. */
  isCut?: true;
}

/** How many sign-ins are kept for the page and to match events. Beyond that the oldest is evicted. */
const MAX_SIGN_INS = 1_000;

export class DevSignIns {
  /** The plans of the next sign-ins, in their order. */
  planned: Plan[] = [];
  readonly requests = new AsyncLocalStorage<DevRequest>();
  readonly all: DevSignIn[] = [];
  #count = 0;
  #resetAt = 0;

  find(browserState: string | undefined): DevSignIn | undefined {
    return this.all.findLast(({ session }) => session.ids.link === browserState);
  }

  /** The latest sign-in that waits for its user: the one with this link, or one since the last reset. */
  findWaiting(link?: unknown): DevSignIn | undefined {
    return this.all.findLast(({ isWaitingForUser, ended, number, session: { ids } }) => {
      if (!isWaitingForUser || ended !== undefined) return false;
      if (link === undefined) return number > this.#resetAt;
      const ends = [ids.link, ...(ids.code ? [formatUserCode(ids.code)] : [])];
      return ends.some((end) => `${link}`.endsWith(end));
    });
  }

  /** Drops all plans. `findWaiting` without a link then finds only later sign-ins. */
  reset(): void {
    this.planned = [];
    this.#resetAt = this.#count;
  }

  /** Wraps a store in memory, and observes what happens to its sessions. */
  watch(store: Store): Store {
    let listener: Listener | undefined;
    store.listen({
      notify: (pollId, notice) => listener?.notify(pollId, notice),
      recheckAll: () => listener?.recheckAll(),
    });
    return {
      ...store,
      // After a restart the new service replaces the listener.
      listen(next) {
        listener = next;
      },
      create: async (session, lifetimeMs) => {
        const request = this.requests.getStore();
        if (request?.plan?.ending === 'full') {
          request.isRefused = true;
          return 'full';
        }
        const outcome = await store.create(session, lifetimeMs);
        if (outcome !== 'created') return outcome;
        this.#count += 1;
        const signIn = new DevSignIn(this.#count, session, request?.plan, store);
        this.all.push(signIn);
        if (this.all.length > MAX_SIGN_INS) this.all.shift();
        systemClock.setTimer(lifetimeMs, () => signIn.expire());
        if (request !== undefined) request.started = signIn;
        return outcome;
      },
      update: (key, change) =>
        store.update(key, (session, nowMs) => {
          const signIn = this.find(session.ids.link);
          const atMs = signIn?.ended === EXPIRED ? Number.MAX_SAFE_INTEGER : nowMs;
          const changed = change(session, atMs);
          signIn?.noteChange(session, changed, this.requests.getStore());
          return changed;
        }),
      // A restart must not wait for devices.
      hasUndelivered: () => false,
    };
  }
}
