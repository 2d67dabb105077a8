/**
 * Sign-ins: everything that endpoints may do with them. Each function is one event of the machine
 * (session.ts) at one store. The vault is opened here, and the observer is notified once the change is
 * stored. Depends on no HTTP and no provider. docs/protocol.md.
 */
import { createPolls, type PollOptions, type PollOutcome } from './polls.ts';
import {
  createCapability,
  createUserCode,
  type RandomBytes,
  type SessionSecrets,
  signInIdOf,
} from './secrets.ts';
import type {
  Acknowledgement,
  Delivery,
  ErrorResult,
  Event,
  ExpiredStage,
  SessionOutcome,
  SessionResult,
} from './session.ts';
import * as machine from './session.ts';
import type { Awaitable, SessionKey, Store } from './store.ts';
import { type Clock, pause } from './time.ts';
import { EXCHANGE_FAILED, type PollKey, type Vault } from './vault.ts';

/** Attempts to create a session. A second is needed only if a random secret collides with a live one. */
const MAX_CREATE_TRIES = 5;

/**
 * After SIGTERM: how long devices may take to get tokens that would be lost with the process.
 * Longer than the interval of RFC 8628 clients, which poll every 5 s.
 */
export const DRAIN_DELIVERY_MS = 7_000;

/** How often a drain checks what it waits for. */
export const DRAIN_CHECK_MS = 100;

/** What a device asks for besides the service. */
export interface NewSignIn {
  readonly delivery: Delivery;
  readonly withUserCode: boolean;
  readonly deviceName: string | undefined;
  /** How long after its first delivery the result is delivered again. Undefined if it is delivered once. */
  readonly redeliveryMs: number | undefined;
}

/** `secrets` has a user code if one was asked for. 'busy': the limit on sessions is reached. */
export type StartOutcome =
  | { readonly ok: true; readonly secrets: SessionSecrets }
  | { readonly ok: false; readonly refusal: 'busy' | 'draining' };

/** What a page shows of a pending session, and the browser state to continue it. */
export interface SessionInfo {
  readonly service: string;
  readonly browserState: string;
  readonly delivery: Delivery;
  /** Since the start, by the store's clock. */
  readonly ageMs: number;
  readonly deviceName: string | undefined;
}

/** What a page shows of a session that is not pending. */
export interface EndedInfo {
  readonly service: string;
  readonly outcome: SessionOutcome;
}

/** The result that a code leads to: tokens, or the code itself if the relay does not exchange it. */
export type CodeOutcome<Failure> =
  | { readonly ok: true; readonly result: SessionResult }
  | { readonly ok: false; readonly failure: Failure };

/** Outcomes of a callback that does not end its sign-in. 'busy': its code is not spent. Otherwise the session did not accept it. */
const NOT_FINAL = ['busy', 'link_invalid', 'cancelled'] as const;
export type NotFinal = (typeof NOT_FINAL)[number];

/** True if the sign-in has ended with this outcome. */
export function isFinal<Outcome extends string>(
  outcome: Outcome,
): outcome is Exclude<Outcome, NotFinal> {
  return !NOT_FINAL.some((each) => each === outcome);
}

/** A callback, after it has ended. The page that the user sees shows the device's name. */
export interface EndedCallback<Failure> {
  readonly outcome: 'signed_in' | ErrorResult['error'] | NotFinal;
  readonly deviceName?: string | undefined;
  readonly failure?: Failure | undefined;
}

/** Events for the log and the metrics. */
export interface SignInObserver {
  /** The user was redirected to the provider for the first time. */
  opened(service: string): void;
  /** A result was delivered for the first time, `waitedMs` after it was stored. */
  delivered(service: string, waitedMs: number, isError: boolean): void;
  /** The provider's response could not be kept, because the session or the lease has ended, or the store failed. Its device gets no tokens. */
  resultLost(service: string, signIn: string): void;
  /** The device cancelled the session for the first time. */
  cancelled(service: string): void;
  /** Called once for an expired session, some time later, unless it was delivered or cancelled. Best effort: a fault may lose it. */
  expired(service: string, stage: ExpiredStage, signIn: string): void;
}

export interface SignInOptions {
  readonly store: Store;
  readonly vault: Vault;
  readonly observer: SignInObserver;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly sessionSeconds: number;
  /** Polls that are parked at once. Default: MAX_PARKED_POLLS. */
  readonly maxParkedPolls?: number | undefined;
}

export type SignIns = ReturnType<typeof createSignIns>;

export function createSignIns(options: SignInOptions) {
  const { store, vault, observer, clock, randomBytes, sessionSeconds } = options;
  const polls = createPolls(store, takeResult, clock, options.maxParkedPolls);
  /** Counted from before the lease until the result is stored, because a lease cannot be undone. */
  let exchanges = 0;
  let isDraining = false;

  /** Consumes and opens the result if there is one, and notifies the observer of its delivery. */
  async function takeResult(
    key: PollKey,
    { wantsProgress = false, ofService }: PollOptions,
  ): Promise<PollOutcome> {
    const event = forService(ofService, machine.poll(wantsProgress));
    const polled = await store.update({ poll: key.id }, event);
    if (polled === undefined) return { state: 'gone' };
    if (polled.state !== 'delivered') return polled;
    const { session, waitedMs } = polled;
    const result = key.resultOf(session);
    if (waitedMs !== undefined) observer.delivered(session.service, waitedMs, 'error' in result);
    return { state: 'delivered', result };
  }

  return {
    async start(service: string, options: NewSignIn): Promise<StartOutcome> {
      if (isDraining) return { ok: false, refusal: 'draining' };
      const { delivery, deviceName, redeliveryMs } = options;
      for (let tries = 0; tries < MAX_CREATE_TRIES; tries += 1) {
        const secrets = {
          browserState: createCapability(randomBytes),
          pollSecret: createCapability(randomBytes),
          userCode: options.withUserCode ? createUserCode(randomBytes) : undefined,
        };
        const kept = vault.protect({ ...secrets, service, delivery, deviceName });
        const signIn = signInIdOf(secrets.browserState);
        const session = { ...kept, signIn, service, redeliveryMs };
        const outcome = await store.create(session, sessionSeconds * 1_000);
        if (outcome === 'created') return { ok: true, secrets };
        if (outcome === 'full') break;
      }
      return { ok: false, refusal: 'busy' };
    },

    /**
     * A pending session by its link or its code, or its outcome, which is known until the link
     * would have expired. Undefined if there is none, or none of this service.
     * Changes nothing.
     */
    async find(
      by: { readonly browserState: string } | { readonly userCode: string },
      ofService?: string,
    ): Promise<SessionInfo | EndedInfo | undefined> {
      const code = 'userCode' in by ? vault.code(by.userCode) : undefined;
      const key: SessionKey =
        'browserState' in by ? { link: vault.link(by.browserState).id } : { code: code?.id ?? '' };
      const event = forService(ofService, machine.find);
      const found = await store.update(key, (session, nowMs) => {
        const { reply } = event(session, nowMs);
        const { service } = session;
        return { reply: typeof reply === 'string' ? { service, outcome: reply } : reply };
      });
      if (found === undefined || 'outcome' in found) return found;
      const { pending, ageMs } = found;
      const browserState = 'browserState' in by ? by.browserState : code?.browserStateOf(pending);
      if (browserState === undefined) return undefined;
      const link = vault.link(browserState);
      const delivery = link.deliveryOf(pending);
      if (delivery === undefined) return undefined;
      const deviceName = link.deviceNameOf(pending);
      return { service: pending.service, browserState, delivery, ageMs, deviceName };
    },

    /** The user is redirected to the provider. An outcome: the sign-in has ended. */
    async open(service: string, browserState: string) {
      const link = vault.link(browserState);
      const opened = await store.update({ link: link.id }, forService(service, machine.open));
      if (typeof opened !== 'object') return opened;
      if (opened.isFirst) observer.opened(service);
      const delivery = link.deliveryOf(opened.pending);
      if (delivery !== undefined) return delivery;
      await store.update({ link: link.id }, machine.fail('failed', undefined));
      return 'failed';
    },

    /** Resolves a code and stores the result. However often it is called, `resolveCode` is called once. */
    async finish<Failure>(
      service: string,
      browserState: string,
      resolveCode: (delivery: Delivery) => Awaitable<CodeOutcome<Failure>>,
    ): Promise<EndedCallback<Failure>> {
      // Another instance, or the next process, can exchange the code.
      if (isDraining) return { outcome: 'busy' };
      exchanges += 1;
      try {
        const link = vault.link(browserState);
        const key = { link: link.id };
        const leased = await store.update(key, forService(service, machine.lease));
        if (typeof leased !== 'object') return { outcome: whyNotAccepted(leased) };
        const delivery = link.deliveryOf(leased);
        const deviceName = link.deviceNameOf(leased);
        const resolved = delivery && (await resolveCode(delivery));
        const result = resolved?.ok ? resolved.result : EXCHANGE_FAILED;
        const kept = link.protectResult(leased, result);
        const isGood = kept !== undefined && !('error' in result);
        const end = machine.complete(isGood ? 'signed_in' : 'failed', kept);
        let stored: true | SessionOutcome | undefined;
        try {
          // Repeated until the lease ends, because only this process has the tokens.
          stored = await store.update(key, end, 'until lease ends');
        } finally {
          const isRefused = stored !== true && stored !== 'cancelled';
          if (isGood && isRefused) observer.resultLost(service, leased.signIn);
        }
        const failure = resolved?.ok === false ? resolved.failure : undefined;
        if (stored !== true) return { outcome: whyNotAccepted(stored), deviceName, failure };
        if (isGood) return { outcome: 'signed_in', deviceName };
        const outcome = 'error' in result ? result.error : 'exchange_failed';
        return { outcome, deviceName, failure };
      } finally {
        exchanges -= 1;
      }
    },

    /** Ends a sign-in without a code. */
    async fail(
      service: string,
      browserState: string,
      error: ErrorResult['error'],
    ): Promise<EndedCallback<never>> {
      const link = vault.link(browserState);
      const outcome = error === 'access_denied' ? error : 'failed';
      const event = machine.fail(outcome, link.protectError({ error }));
      const failed = await store.update({ link: link.id }, forService(service, event));
      if (typeof failed !== 'object') return { outcome: whyNotAccepted(failed) };
      return { outcome: error, deviceName: link.deviceNameOf(failed) };
    },

    /** Waits for the result of a sign-in, and delivers it. */
    poll: (pollSecret: string, signal: AbortSignal, holdSeconds: number, options: PollOptions) =>
      polls.wait(vault.poll(pollSecret), signal, holdSeconds, options),

    /** The device confirms what it received. */
    async acknowledge(pollSecret: string): Promise<Acknowledgement> {
      const key = { poll: vault.poll(pollSecret).id };
      return (await store.update(key, machine.acknowledge)) ?? 'gone';
    },

    /** The device ends the sign-in. Idempotent. */
    async cancel(pollSecret: string): Promise<'cancelled' | 'gone'> {
      const key = { poll: vault.poll(pollSecret).id };
      let service = '';
      const cancelled = await store.update(key, (session, nowMs) => {
        ({ service } = session);
        return machine.cancel(session, nowMs);
      });
      if (cancelled === 'cancelled') observer.cancelled(service);
      return cancelled === 'again' ? 'cancelled' : (cancelled ?? 'gone');
    },

    countLive: () => store.countLive(),
    countParked: polls.countParked,

    /** Frees memory, and reports what has expired. Everything else checks expiry itself. */
    async sweep(): Promise<void> {
      for (const session of await store.sweep()) {
        const stage = machine.stageOf(session);
        const { service, signIn } = session;
        if (stage !== undefined) observer.expired(service, stage, signIn);
      }
    },

    /** Releases every parked poll as 'pending', and accepts no new session and no new code. Polls may park again. */
    drain(): void {
      isDraining = true;
      polls.release();
    },

    /**
     * After `drain`: resolves once every accepted code has become a result, and devices have had
     * time to get the results that only this process holds.
     */
    async drained(): Promise<void> {
      while (exchanges > 0) await pause(clock, DRAIN_CHECK_MS);
      const untilMs = clock.now() + DRAIN_DELIVERY_MS;
      while (store.hasUndelivered?.() && clock.now() < untilMs) await pause(clock, DRAIN_CHECK_MS);
    },

    settled: () => store.settled?.(),

    /** Like `drain`, and from now on no poll parks. */
    close(): void {
      isDraining = true;
      polls.close();
    },
  };
}

/** Limits an event to sessions of this service, or of any if it is undefined. For others its reply is undefined, as if there were none. */
const forService =
  <Reply>(service: string | undefined, event: Event<Reply>): Event<Reply | undefined> =>
  (session, nowMs) =>
    service === undefined || service === session.service
      ? event(session, nowMs)
      : { reply: undefined };

/** Why a session accepts no callback. */
const whyNotAccepted = (outcome: SessionOutcome | undefined) =>
  outcome === 'cancelled' ? 'cancelled' : 'link_invalid';
