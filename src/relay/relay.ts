/** The relay: starts sign-ins, completes authorizations, and drains. Depends on no HTTP and no provider. */
import { MAX_CALLBACK_CHARACTERS } from '../limits.ts';
import { Polls } from './polls.ts';
import {
  createVerifier,
  type DrawSecrets,
  type RandomBytes,
  type SessionSecrets,
} from './secrets.ts';
import type { CallbackResult, CodeResult, ErrorResult, TokenResult } from './session.ts';
import type { ExchangeParameters, SessionStore } from './store.ts';
import { type Clock, pause } from './time.ts';

/** Attempts to register a session. A second is needed only if a random secret collides with a live one. */
const MAX_REGISTER_TRIES = 5;

/**
 * After SIGTERM: how long devices may take to claim tokens that would be lost with
 * the process. Longer than the interval of RFC 8628 clients, which poll every 5 s.
 */
export const DRAIN_DELIVERY_MS = 7_000;

/** How often a drain checks whether they have been claimed. */
export const DRAIN_CHECK_MS = 100;

/** What a device asks for besides the service. */
export interface NewSignIn {
  readonly withVerifier: boolean;
  /** The device's own, instead of a verifier. */
  readonly challenge: string | undefined;
  /** Given for an open sign-in. */
  readonly authorizationUrl?: string;
  readonly details: boolean;
  readonly withUserCode: boolean;
  readonly deviceName: string | undefined;
  /** How long the result stays after it was first claimed. Undefined: it is claimed once. */
  readonly repeatMs: number | undefined;
  readonly keepsErrors: boolean;
}

/** `secrets` has a user code if one was asked for. 'busy': the limit on sessions is reached. */
export type StartOutcome =
  | { readonly ok: true; readonly secrets: SessionSecrets }
  | { readonly ok: false; readonly refusal: 'busy' | 'draining' };

export type ExchangeOutcome<Failure> =
  | { readonly ok: true; readonly tokens: TokenResult }
  | { readonly ok: false; readonly failure: Failure };

/** Exchanges codes. `exchange` settles within EXCHANGE_TIMEOUT_MS and never rejects. */
export interface CodeExchanger<Failure> {
  readonly name: string;
  /** Reserves one exchange. Returns false at the limit; the code is then not spent. */
  reserve(): boolean;
  release(): void;
  /** For a device that exchanges the code itself. */
  codeForDevice(code: string, leased: ExchangeParameters): CodeResult | CallbackResult;
  exchange(code: string, verifier: string | undefined): Promise<ExchangeOutcome<Failure>>;
}

/** Why a link or a callback is refused. 'cancelled': the device has ended the session. */
export type LinkRefusal = 'link_invalid' | 'cancelled';

/** How a callback ended. A LinkRefusal: the session did not accept the result. 'busy': the code is not spent. */
export type CallbackOutcome = 'signed_in' | 'busy' | LinkRefusal | ErrorResult['error'];

/** A callback, after it has ended. The page that the user sees shows the device's name. */
export interface EndedCallback<Failure> {
  readonly outcome: CallbackOutcome;
  readonly deviceName?: string | undefined;
  readonly failure?: Failure;
}

export interface RelayOptions {
  readonly store: SessionStore;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly drawSecrets: DrawSecrets;
  readonly sessionSeconds: number;
  /** Polls that are parked at once. Undefined: MAX_PARKED_POLLS. */
  readonly maxParkedPolls?: number | undefined;
}

export class Relay {
  readonly #options: RelayOptions;
  readonly polls: Polls;
  /** Counted from before the lease until the result is stored, because a lease cannot be undone. */
  #exchanges = 0;
  #onIdle: (() => void) | undefined;
  #isDraining = false;

  constructor(options: RelayOptions) {
    this.#options = options;
    this.polls = new Polls(options.store, options.clock, options.maxParkedPolls);
  }

  async start(
    service: string,
    { withVerifier, withUserCode, ...asked }: NewSignIn,
  ): Promise<StartOutcome> {
    if (this.#isDraining) return { ok: false, refusal: 'draining' };
    const { store, randomBytes, drawSecrets, sessionSeconds } = this.#options;
    for (let tries = 0; tries < MAX_REGISTER_TRIES; tries += 1) {
      const secrets = drawSecrets(withUserCode);
      const outcome = await store.register({
        ...secrets,
        service,
        lifetimeMs: sessionSeconds * 1_000,
        verifier: withVerifier ? createVerifier(randomBytes) : undefined,
        ...asked,
      });
      if (outcome === 'registered') return { ok: true, secrets };
      if (outcome === 'busy') break;
    }
    return { ok: false, refusal: 'busy' };
  }

  /** Exchanges a code and stores the result. However often it is called, the code is spent at most once. */
  async endWithCode<Failure>(
    exchanger: CodeExchanger<Failure>,
    browserState: string,
    code: string,
  ): Promise<EndedCallback<Failure>> {
    // Another instance or the next process can exchange the code.
    if (this.#isDraining || !exchanger.reserve()) return { outcome: 'busy' };
    this.#exchanges += 1;
    try {
      return await endWithCode(this.#options.store, exchanger, browserState, code);
    } finally {
      exchanger.release();
      this.#exchanges -= 1;
      if (this.#exchanges === 0) this.#onIdle?.();
    }
  }

  /** Ends a sign-in without a code. */
  async endWithError(
    service: string,
    browserState: string,
    error: ErrorResult['error'],
  ): Promise<EndedCallback<never>> {
    const { store } = this.#options;
    // Before the session ends, which removes the name.
    const session = await store.getSession({ browserState });
    const isStored = await store.fail(service, browserState, { error });
    const outcome = isStored ? error : await findLinkRefusal(store, browserState);
    const deviceName = typeof session === 'object' ? session.deviceName : undefined;
    return { outcome, deviceName };
  }

  /** Lets every parked poll return 'pending'. Takes no new session and no new code. Polls may park again. */
  drain(): void {
    this.#isDraining = true;
    this.polls.release();
  }

  /**
   * After `drain`: resolves once every accepted code has become a result, and devices
   * have had time to claim the results that only this process holds.
   */
  async delivered(): Promise<void> {
    const { store, clock } = this.#options;
    if (this.#exchanges > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    const untilMs = clock.now() + DRAIN_DELIVERY_MS;
    while (store.hasUndelivered() && clock.now() < untilMs) await pause(clock, DRAIN_CHECK_MS);
  }

  /** Like `drain`, and from now on no poll parks. */
  close(): void {
    this.#isDraining = true;
    this.polls.close();
  }
}

async function endWithCode<Failure>(
  store: SessionStore,
  exchanger: CodeExchanger<Failure>,
  browserState: string,
  code: string,
): Promise<EndedCallback<Failure>> {
  const { name } = exchanger;
  const leased = await store.lease(name, browserState);
  if (leased === undefined) return { outcome: await findLinkRefusal(store, browserState) };
  const { deviceName } = leased;
  if (leased.challenge !== undefined) {
    // Only the device has the verifier, so only it can exchange the code.
    const isTooLong = code.length > MAX_CALLBACK_CHARACTERS;
    const result = isTooLong ? AUTHORIZATION_FAILED : exchanger.codeForDevice(code, leased);
    const isStored = await store.complete(name, browserState, result);
    const ended = 'error' in result ? result.error : 'signed_in';
    return { outcome: isStored ? ended : 'link_invalid', deviceName };
  }
  const exchanged = await exchanger.exchange(code, leased.verifier);
  const result = exchanged.ok ? withDetails(exchanged.tokens, leased) : EXCHANGE_FAILED;
  const isStored = await store.complete(name, browserState, result);
  const ended = exchanged.ok ? 'signed_in' : 'exchange_failed';
  const outcome = isStored ? ended : await findLinkRefusal(store, browserState);
  return exchanged.ok
    ? { outcome, deviceName }
    : { outcome, deviceName, failure: exchanged.failure };
}

function withDetails(tokens: TokenResult, { details }: ExchangeParameters): TokenResult {
  return details ? { ...tokens, details } : tokens;
}

/** Says why a link is refused, if its session is not pending. */
export async function findLinkRefusal(
  store: SessionStore,
  browserState: string,
): Promise<LinkRefusal> {
  const found = await store.getSession({ browserState });
  return found === 'cancelled' ? 'cancelled' : 'link_invalid';
}

const EXCHANGE_FAILED: ErrorResult = { error: 'exchange_failed' };
const AUTHORIZATION_FAILED: ErrorResult = { error: 'authorization_failed' };
