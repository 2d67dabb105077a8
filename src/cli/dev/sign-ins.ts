/**
 * The sign-ins of a dev relay: how each is to end, and what has happened to it. They are
 * observed in the session store, which both the relay's own protocol and the device grant use.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { RateLimiter } from '../../relay/rate-limit.ts';
import type { SessionResult } from '../../relay/session.ts';
import type { NewSession, SessionKey, SessionStore } from '../../relay/store.ts';
import { systemClock } from '../../relay/time.ts';
import type { Plan } from './scenarios.ts';

export interface DevSignIn {
  readonly number: number;
  readonly service: string;
  readonly browserState: string;
  readonly userCode: string | undefined;
  readonly deviceName: string | undefined;
  /** Undefined until it is chosen. */
  plan: Plan | undefined;
  /** Expires the session early, and notifies its polls. */
  readonly expire: () => void;
  hasExpired: boolean;
  /** Why polls get a 410. Undefined while they do not. */
  ended: string | undefined;
  wasOpened: boolean;
  wasCut: boolean;
  deliveries: number;
  /** The latest event, in a few words. */
  state: string;
}

/** What is known of the request that is being handled. */
export interface RequestContext {
  /** The plan of the sign-in that it starts. */
  readonly plan: Plan | undefined;
  /** The sign-in that it started. */
  started: DevSignIn | undefined;
  /** The response has tokens, and its connection is to break. */
  isCut: boolean;
}

/** Sign-ins that are remembered, for the page and to match events. The oldest is forgotten. */
const MAX_SIGN_INS = 1_000;

export type Tell = (signIn: DevSignIn, text: string) => void;

export class SignIns {
  /** Of the request that is being handled. */
  readonly context = new AsyncLocalStorage<RequestContext>();
  /** The plans of the next sign-ins, in their order. */
  readonly planned: Plan[] = [];
  readonly tell: Tell;
  readonly #byBrowserState = new Map<string, DevSignIn>();
  readonly #byPollSecret = new Map<string, DevSignIn>();
  readonly #byUserCode = new Map<string, DevSignIn>();
  #count = 0;

  constructor(tell: Tell) {
    this.tell = tell;
  }

  find(browserState: string): DevSignIn | undefined {
    return this.#byBrowserState.get(browserState);
  }

  findByPollSecret(pollSecret: string): DevSignIn | undefined {
    return this.#byPollSecret.get(pollSecret);
  }

  /** The latest that waits for its user. */
  findWaiting(): DevSignIn | undefined {
    const all = [...this.#byBrowserState.values()];
    return all.findLast(({ wasOpened, ended }) => !wasOpened && !ended);
  }

  /** The latest first. */
  latest(most: number): readonly DevSignIn[] {
    return [...this.#byBrowserState.values()].slice(-most).reverse();
  }

  /** The relay restarts without them. */
  forgetAll(): void {
    for (const signIn of this.#byBrowserState.values()) signIn.ended ??= 'the relay has restarted';
  }

  note(signIn: DevSignIn | undefined, state: string, text = state): void {
    if (signIn === undefined) return;
    signIn.state = state;
    this.tell(signIn, text);
  }

  tellExpired(signIn: DevSignIn): void {
    if (signIn.ended !== undefined) return;
    signIn.ended = 'it has expired';
    this.note(signIn, 'expired', 'the sign-in expired: its polls get 410, so start again');
  }

  /** Refuses a start only on plan. */
  readonly startLimiter: RateLimiter = {
    policy: { burst: 1, ratePerSecond: Number.POSITIVE_INFINITY },
    take: () => {
      const plan = this.context.getStore()?.plan;
      return plan?.scenario === 'rate-limited' ? plan.seconds * 1_000 : 0;
    },
    refund() {},
    sweep() {},
  };

  /** The same store, which reports its events here. */
  watch(store: SessionStore): SessionStore {
    return {
      ...store,
      register: (session) => this.#register(store, session),
      authorize: (service, browserState) => {
        const found = store.authorize(service, browserState);
        if (found !== undefined) this.#noteOpened(browserState);
        return found;
      },
      getSession: async (key) => {
        const found = await store.getSession(key);
        return found === 'cancelled' && this.#findBy(key)?.hasExpired ? undefined : found;
      },
      fail: async (service, browserState, error) => {
        const isFailed = await store.fail(service, browserState, error);
        if (isFailed) this.#noteEnd(browserState, error);
        return isFailed;
      },
      complete: async (service, browserState, result) => {
        const isStored = await store.complete(service, browserState, result);
        if (isStored) this.#noteEnd(browserState, result);
        return isStored;
      },
      claim: async (pollSecret) => {
        const claim = await store.claim(pollSecret);
        if (claim.state === 'claimed') this.#noteClaim(pollSecret, claim.result);
        return claim;
      },
      acknowledge: async (pollSecret) => {
        const outcome = await store.acknowledge(pollSecret);
        const text = 'the device acknowledged what it received';
        if (outcome === 'acknowledged') this.note(this.findByPollSecret(pollSecret), outcome, text);
        return outcome;
      },
      cancel: async (pollSecret) => {
        const outcome = await store.cancel(pollSecret);
        const signIn = this.findByPollSecret(pollSecret);
        if (outcome === 'cancelled' && signIn !== undefined) {
          signIn.ended ??= 'its device cancelled it';
          this.note(signIn, outcome, 'the device cancelled its sign-in');
        }
        return outcome;
      },
      // So that a restart does not wait.
      hasUndelivered: () => false,
    };
  }

  async #register(store: SessionStore, session: NewSession) {
    const current = this.context.getStore();
    const plan = current?.plan;
    if (plan?.scenario === 'full') return 'busy';
    const outcome = await store.register(session);
    if (outcome !== 'registered') return outcome;
    this.#count += 1;
    const signIn: DevSignIn = {
      number: this.#count,
      service: session.service,
      browserState: session.browserState,
      userCode: session.userCode,
      deviceName: session.deviceName,
      plan,
      expire: () => {
        // To polls and links it then looks expired: see getSession.
        signIn.hasExpired = true;
        this.tellExpired(signIn);
        void store.cancel(session.pollSecret);
      },
      hasExpired: false,
      ended: undefined,
      wasOpened: false,
      wasCut: false,
      deliveries: 0,
      state: '',
    };
    this.#remember(signIn, session.pollSecret);
    systemClock.setTimer(session.lifetimeMs, () => this.tellExpired(signIn));
    if (current !== undefined) current.started = signIn;
    this.note(signIn, 'waiting for the user', describeStart(signIn, session));
    return outcome;
  }

  #remember(signIn: DevSignIn, pollSecret: string): void {
    this.#byBrowserState.set(signIn.browserState, signIn);
    this.#byPollSecret.set(pollSecret, signIn);
    if (signIn.userCode !== undefined) this.#byUserCode.set(signIn.userCode, signIn);
    for (const map of [this.#byBrowserState, this.#byPollSecret, this.#byUserCode]) {
      const [oldest] = map.keys();
      if (map.size > MAX_SIGN_INS && oldest !== undefined) map.delete(oldest);
    }
  }

  #findBy(key: SessionKey): DevSignIn | undefined {
    return 'userCode' in key ? this.#byUserCode.get(key.userCode) : this.find(key.browserState);
  }

  /** A link may be opened again. */
  #noteOpened(browserState: string): void {
    const signIn = this.find(browserState);
    if (signIn?.wasOpened !== false) return;
    signIn.wasOpened = true;
    this.note(signIn, 'at the provider', 'the user is redirected to the provider');
  }

  #noteEnd(browserState: string, result: SessionResult): void {
    const name = nameOf(result);
    const text = ENDINGS[name] ?? `the sign-in ended with ${name}`;
    this.note(this.find(browserState), name, text);
  }

  #noteClaim(pollSecret: string, result: SessionResult): void {
    const signIn = this.findByPollSecret(pollSecret);
    if (signIn === undefined) return;
    const current = this.context.getStore();
    const isToCut = signIn.plan?.scenario === 'cut-off' && !signIn.wasCut;
    if (isToCut && !('error' in result) && current !== undefined) {
      signIn.wasCut = true;
      current.isCut = true;
      this.note(signIn, 'cut off', 'the connection broke in the middle of the response');
      return;
    }
    const name = nameOf(result);
    const again = signIn.deliveries > 0 ? ' again' : '';
    this.note(signIn, `${name} delivered`, `the device received ${name}${again}`);
    signIn.deliveries += 1;
    signIn.ended ??= 'its result was delivered';
  }
}

const ENDINGS: Readonly<Record<string, string>> = {
  tokens: 'the relay exchanged the code for tokens',
  'a code': 'the relay has the code, which the device exchanges itself',
};

function nameOf(result: SessionResult): string {
  if ('error' in result) return result.error;
  // For a device with its own challenge (docs/extensions.md).
  return 'code' in result ? 'a code' : 'tokens';
}

function describeStart({ service, plan }: DevSignIn, session: NewSession): string {
  const { deviceName, userCode, repeatMs } = session;
  const asked = [
    ...(userCode === undefined ? [] : ['code']),
    ...(repeatMs === undefined ? [] : ['ack']),
  ];
  const who = deviceName === undefined ? 'a device' : `"${deviceName}"`;
  const how = asked.length > 0 ? `, with ${asked.join(' and ')}` : '';
  const ending = plan === undefined ? '' : `; it is planned to end as "${plan.scenario}"`;
  return `${who} started a sign-in at ${service}${how}${ending}`;
}
