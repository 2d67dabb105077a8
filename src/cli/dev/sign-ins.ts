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

export type SignIns = ReturnType<typeof createSignIns>;

export function createSignIns(tell: Tell) {
  const byBrowserState = new Map<string, DevSignIn>();
  const byPollSecret = new Map<string, DevSignIn>();
  const byUserCode = new Map<string, DevSignIn>();
  const all = () => [...byBrowserState.values()];
  let count = 0;

  function note(signIn: DevSignIn | undefined, state: string, text = state): void {
    if (signIn === undefined) return;
    signIn.state = state;
    tell(signIn, text);
  }

  return {
    /** What is known of the request that is being handled. */
    context: new AsyncLocalStorage<RequestContext>(),
    /** The plans of the next sign-ins, in their order. */
    planned: [] as Plan[],
    note,
    tell,

    nextNumber(): number {
      count += 1;
      return count;
    },
    add(signIn: DevSignIn, pollSecret: string): void {
      byBrowserState.set(signIn.browserState, signIn);
      byPollSecret.set(pollSecret, signIn);
      if (signIn.userCode !== undefined) byUserCode.set(signIn.userCode, signIn);
      for (const map of [byBrowserState, byPollSecret, byUserCode]) {
        const [oldest] = map.keys();
        if (map.size > MAX_SIGN_INS && oldest !== undefined) map.delete(oldest);
      }
    },
    find: (browserState: string) => byBrowserState.get(browserState),
    findByPollSecret: (pollSecret: string) => byPollSecret.get(pollSecret),
    findByKey: (key: SessionKey) =>
      'userCode' in key ? byUserCode.get(key.userCode) : byBrowserState.get(key.browserState),
    /** The latest that waits for its user. */
    findWaiting: () => all().findLast(({ wasOpened, ended }) => !wasOpened && !ended),
    /** The latest first. */
    latest: (most: number) => all().slice(-most).reverse(),

    tellExpired(signIn: DevSignIn): void {
      if (signIn.ended !== undefined) return;
      signIn.ended = 'it has expired';
      note(signIn, 'expired', 'the sign-in expired: its polls get 410, so start again');
    },
    /** The relay restarts without them. */
    forgetAll(): void {
      for (const signIn of all()) signIn.ended ??= 'the relay has restarted';
    },
  };
}

/** Refuses a start only on plan. */
export const createStartLimiter = ({ context }: SignIns): RateLimiter => ({
  policy: { burst: 1, ratePerSecond: Number.POSITIVE_INFINITY },
  take() {
    const plan = context.getStore()?.plan;
    return plan?.scenario === 'rate-limited' ? plan.seconds * 1_000 : 0;
  },
  refund() {},
  sweep() {},
});

/** The same store, which reports its events to `signIns`. */
export function watchStore(store: SessionStore, signIns: SignIns): SessionStore {
  const { find, findByKey, findByPollSecret, note } = signIns;
  const noteEnd = (browserState: string, result: SessionResult) => {
    const name = nameOf(result);
    note(find(browserState), name, ENDINGS[name] ?? `the sign-in ended with ${name}`);
  };
  return {
    ...store,
    register: (session) => register(store, signIns, session),
    authorize(service, browserState) {
      const found = store.authorize(service, browserState);
      const signIn = find(browserState);
      if (found !== undefined && signIn?.wasOpened === false) {
        signIn.wasOpened = true;
        note(signIn, 'at the provider', 'the user is redirected to the provider');
      }
      return found;
    },
    async getSession(key) {
      const found = await store.getSession(key);
      return found === 'cancelled' && findByKey(key)?.hasExpired ? undefined : found;
    },
    async fail(service, browserState, error) {
      const isFailed = await store.fail(service, browserState, error);
      if (isFailed) noteEnd(browserState, error);
      return isFailed;
    },
    async complete(service, browserState, result) {
      const isStored = await store.complete(service, browserState, result);
      if (isStored) noteEnd(browserState, result);
      return isStored;
    },
    async claim(pollSecret) {
      const claim = await store.claim(pollSecret);
      const signIn = findByPollSecret(pollSecret);
      if (claim.state === 'claimed' && signIn) noteClaim(signIns, signIn, claim.result);
      return claim;
    },
    async acknowledge(pollSecret) {
      const outcome = await store.acknowledge(pollSecret);
      const text = 'the device acknowledged what it received';
      if (outcome === 'acknowledged') note(findByPollSecret(pollSecret), outcome, text);
      return outcome;
    },
    async cancel(pollSecret) {
      const outcome = await store.cancel(pollSecret);
      const signIn = findByPollSecret(pollSecret);
      if (outcome === 'cancelled' && signIn !== undefined) {
        signIn.ended ??= 'its device cancelled it';
        note(signIn, outcome, 'the device cancelled its sign-in');
      }
      return outcome;
    },
    // So that a restart does not wait.
    hasUndelivered: () => false,
  };
}

async function register(store: SessionStore, signIns: SignIns, session: NewSession) {
  const current = signIns.context.getStore();
  const plan = current?.plan;
  if (plan?.scenario === 'full') return 'busy';
  const outcome = await store.register(session);
  if (outcome !== 'registered') return outcome;
  const signIn: DevSignIn = {
    number: signIns.nextNumber(),
    service: session.service,
    browserState: session.browserState,
    userCode: session.userCode,
    deviceName: session.deviceName,
    plan,
    expire() {
      // To polls and links it then looks expired: see getSession.
      signIn.hasExpired = true;
      signIns.tellExpired(signIn);
      void store.cancel(session.pollSecret);
    },
    hasExpired: false,
    ended: undefined,
    wasOpened: false,
    wasCut: false,
    deliveries: 0,
    state: '',
  };
  signIns.add(signIn, session.pollSecret);
  systemClock.setTimer(session.lifetimeMs, () => signIns.tellExpired(signIn));
  if (current !== undefined) current.started = signIn;
  signIns.note(signIn, 'waiting for the user', describeStart(signIn, session));
  return outcome;
}

function noteClaim({ context, note }: SignIns, signIn: DevSignIn, result: SessionResult): void {
  const current = context.getStore();
  const isToCut = signIn.plan?.scenario === 'cut-off' && !signIn.wasCut;
  if (isToCut && !('error' in result) && current !== undefined) {
    signIn.wasCut = true;
    current.isCut = true;
    note(signIn, 'cut off', 'the connection broke in the middle of the response');
    return;
  }
  const name = nameOf(result);
  const again = signIn.deliveries > 0 ? ' again' : '';
  note(signIn, `${name} delivered`, `the device received ${name}${again}`);
  signIn.deliveries += 1;
  signIn.ended ??= 'its result was delivered';
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
