/**
 * The sign-ins of a dev relay: how each is to end, and what has happened to it. They are
 * observed in the session store, which both the relay's own protocol and the device grant use.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { RateLimiter } from '../../sign-ins/rate-limits.ts';
import { digestOf } from '../../sign-ins/secrets.ts';
import type { Change, NewSession, Polled, Session, SessionResult } from '../../sign-ins/session.ts';
import type { Store } from '../../sign-ins/store.ts';
import { systemClock } from '../../sign-ins/time.ts';
import { openPlain, resultOf } from '../../sign-ins/vault.ts';
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
  const byPollId = new Map<string, DevSignIn>();
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
    add(signIn: DevSignIn, pollId: string): void {
      byBrowserState.set(signIn.browserState, signIn);
      byPollId.set(pollId, signIn);
      for (const map of [byBrowserState, byPollId]) {
        const [oldest] = map.keys();
        if (map.size > MAX_SIGN_INS && oldest !== undefined) map.delete(oldest);
      }
    },
    find: (browserState: string) => byBrowserState.get(browserState),
    findByPollSecret: (pollSecret: string) => byPollId.get(digestOf(pollSecret)),
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

/** The same store, in memory, which reports what happens to its sessions to `signIns`. */
export function watchStore(store: Store, signIns: SignIns): Store {
  return {
    ...store,
    async create(session, lifetimeMs) {
      const current = signIns.context.getStore();
      if (current?.plan?.scenario === 'full') return 'full';
      const outcome = await store.create(session, lifetimeMs);
      if (outcome !== 'created') return outcome;
      const signIn = createSignIn(store, signIns, session, current?.plan);
      systemClock.setTimer(lifetimeMs, () => signIns.tellExpired(signIn));
      if (current !== undefined) current.started = signIn;
      signIns.note(signIn, 'waiting for the user', describeStart(signIn, session));
      return outcome;
    },
    async update(key, change) {
      let happened: Happened | undefined;
      const reply = await store.update(key, (session, nowMs) => {
        const signIn = signIns.find(session.ids.link);
        // Expired early, on plan.
        const atMs = signIn?.hasExpired ? Number.MAX_SAFE_INTEGER : nowMs;
        const changed = change(session, atMs);
        if (signIn !== undefined) happened = { signIn, before: session, ...changed };
        return changed;
      });
      if (happened !== undefined) noteChange(signIns, happened);
      return reply;
    },
    // So that a restart does not wait.
    hasUndelivered: () => false,
  };
}

function createSignIn(
  store: Store,
  signIns: SignIns,
  { service, ids, deviceName }: NewSession,
  plan: Plan | undefined,
): DevSignIn {
  const signIn: DevSignIn = {
    number: signIns.nextNumber(),
    service,
    browserState: ids.link,
    userCode: ids.code,
    deviceName: deviceName && openPlain(deviceName),
    plan,
    expire() {
      signIn.hasExpired = true;
      signIns.tellExpired(signIn);
      void store.update({ link: ids.link }, () => ({ reply: undefined, notice: 'completed' }));
    },
    hasExpired: false,
    ended: undefined,
    wasOpened: false,
    wasCut: false,
    deliveries: 0,
    state: '',
  };
  signIns.add(signIn, ids.poll);
  return signIn;
}

interface Happened extends Change<unknown> {
  readonly signIn: DevSignIn;
  readonly before: Session;
}

function noteChange(signIns: SignIns, { signIn, before, next, reply }: Happened): void {
  const { note } = signIns;
  if (isDelivery(reply)) {
    noteDelivery(signIns, signIn, resultOf(reply.session));
  } else if (next?.state === 'pending' && before.opening === 'none') {
    signIn.wasOpened = true;
    note(signIn, 'at the provider', 'the user is redirected to the provider');
  } else if (next?.state === 'completed') {
    const name = nameOf(resultOf(next));
    note(signIn, name, ENDINGS[name] ?? `the sign-in ended with ${name}`);
  } else if (next?.state === 'ended') {
    note(signIn, 'acknowledged', 'the device acknowledged what it received');
  } else if (next?.state === 'cancelled') {
    signIn.ended ??= 'its device cancelled it';
    note(signIn, 'cancelled', 'the device cancelled its sign-in');
  }
}

const isDelivery = (reply: unknown): reply is Extract<Polled, { readonly state: 'delivered' }> =>
  Object(reply).state === 'delivered';

function noteDelivery({ context, note }: SignIns, signIn: DevSignIn, result: SessionResult): void {
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

function describeStart(
  { service, plan, deviceName, userCode }: DevSignIn,
  { redeliveryMs }: NewSession,
): string {
  const asked = [
    ...(userCode === undefined ? [] : ['code']),
    ...(redeliveryMs === undefined ? [] : ['ack']),
  ];
  const who = deviceName === undefined ? 'a device' : `"${deviceName}"`;
  const how = asked.length > 0 ? `, with ${asked.join(' and ')}` : '';
  const ending = plan === undefined ? '' : `; it is planned to end as "${plan.scenario}"`;
  return `${who} started a sign-in at ${service}${how}${ending}`;
}
