/**
 * Drives a relay and the model (model.ts) with the same random commands (commands.ts), and
 * compares every answer. The relay is whole, behind its fetch handlers; time and the provider
 * are the test's.
 */
import { expect } from 'bun:test';
import type { RefreshStore } from '../../src/relay/refresh.ts';
import type { FakeClock } from '../kit/clock.ts';
import { authorizeDevice, start, startRequest } from '../kit/device.ts';
import {
  StoreUnavailable,
  type TestService,
  type TestServiceOptions,
  type Verb,
} from '../kit/service.ts';
import { callback, continueWithCode } from '../kit/user.ts';
import type { Command } from './commands.ts';
import {
  type Answer,
  type Answered,
  LEASE_MS,
  Model,
  POLL_MS,
  type Poll,
  REPEAT_MS,
  SESSION_MS,
} from './model.ts';
import { Refreshes, type Reply } from './refreshes.ts';
import { createRequest, type Device, pollFor, type RequestName } from './requests.ts';

const MAX_SESSIONS = 6;
/** Long before a relay gives up waiting for the provider, which would be at a moment that the model does not know. */
const PROVIDER_MS = 10_000;
/** A relay that was suspended first reads what has arrived meanwhile. */
const GRACE_MS = 250;

/** Over Redis: a poll finds its session, claims its result, and asks whether the link was opened. */
const COMMANDS_OF_A_POLL = 3;

/** A reply of these may be lost. A store itself repeats or undoes a lease or a claim (test/redis/lost-answers.test.ts). */
const LOSABLE: ReadonlySet<Verb> = new Set([
  ...(['register', 'getAuthorization', 'fail', 'complete'] as const),
  ...(['acknowledge', 'takeOpenedNotice', 'cancel'] as const),
]);

/** Those that are no request to a relay, or have their own faults. */
const WITHOUT_FAULTS: ReadonlySet<Command['name']> = new Set([
  ...(['time passes', 'relay is suspended', 'relay restarts', 'two at once'] as const),
  'code comes back twice at once',
]);

/** A device that polls must not give up. */
const ANSWER_WHILE_DOWN: Partial<Record<RequestName, string>> = {
  'poll once': '204',
  'poll with the state of the link': '204',
};

type MeetingName =
  | RequestName
  | 'poll'
  | 'two at once'
  | 'code comes back'
  | 'code comes back twice at once';

interface Exchange {
  readonly device: Device;
  readonly relay: 0 | 1;
  readonly startedAtMs: number;
  /** It is answered once its lease has ended. */
  readonly outlivesLease: boolean;
  readonly reply: PromiseWithResolvers<Response>;
  readonly page: Promise<number>;
}

/** What the world does next. */
interface Control {
  /** Of the provider, by code; each code is sent once. */
  readonly replies: Map<string, PromiseWithResolvers<Response>>;
  store: Command['store'];
  /** How many replies of the store were lost while the command ran. */
  lostReplies: number;
}

interface RealPoll {
  readonly device: Device;
  readonly relay: 0 | 1;
  readonly leave: AbortController;
  /** Once it is answered. */
  seen?: Answer | 'cut';
}

/** Two relays on one store. */
export interface World {
  readonly clock: FakeClock;
  relays(): readonly [TestService, TestService];
  /** Resolves once everything that is ready has happened. */
  settle(): Promise<void>;
  /** How often the test looks whether a relay has done what it must. */
  readonly tries: number;
  /** What is left in the store: a Durable Object has refreshes in it too. */
  countKept(): Promise<number>;
  /** Which relays `restart` kills: those in the same process too, or the one. */
  readonly restarted: 'all' | 'one';
  readonly storeSurvives: boolean;
  restart(index: 0 | 1): Promise<void>;
  close(): void;
}

/** What a relay of a world is created with; another time when it restarts. */
export interface Hooks extends Required<Pick<TestServiceOptions, 'fetch' | 'beforeVerb'>> {
  readonly beforeRefreshVerb: (verb: keyof RefreshStore) => void;
}
export type OpenWorld = (maxSessions: number, hooksOf: (index: 0 | 1) => Hooks) => Promise<World>;

/** Gives up with the command that was answered otherwise than the model says. */
export class Run {
  /** How often each event met a session in each state. */
  readonly met = new Map<string, number>();
  executed = 0;
  #devices: Device[] = [];
  #exchanges: Exchange[] = [];
  readonly #polls = new Map<Poll, RealPoll>();
  readonly #control: Control = { replies: new Map(), store: 'up', lostReplies: 0 };
  /** How often each relay has restarted: what is left of a killed one does nothing more. */
  readonly #restarts: [number, number] = [0, 0];
  #world!: World;
  #model!: Model;
  #refreshes!: Refreshes;
  #codes = 0;
  #tokens = 0;

  static async start(open: OpenWorld): Promise<Run> {
    const run = new Run();
    run.#world = await open(MAX_SESSIONS, (index) => run.#createHooks(index));
    run.#model = new Model(run.#world.clock.now());
    run.#refreshes = new Refreshes(run.#world.clock.now, () => run.#control.store === 'down');
    return run;
  }

  #createHooks(index: 0 | 1): Hooks {
    const control = this.#control;
    const restarts = this.#restarts[index];
    const failIfDown = () => {
      const isKilled = restarts !== this.#restarts[index];
      if (isKilled || control.store === 'down') throw new StoreUnavailable('down');
    };
    return {
      fetch: async (_url, { body, signal }) => {
        const form = new URLSearchParams(String(body));
        const code = form.get('code');
        if (code === null) return this.#refreshes.receive(index, form, signal);
        const reply = control.replies.get(code);
        if (reply === undefined) throw new Error('a code that was not given, or was sent twice');
        control.replies.delete(code);
        return reply.promise;
      },
      beforeRefreshVerb: (verb) => {
        if (verb === 'finish') this.#refreshes.finished();
        failIfDown();
      },
      beforeVerb: async (verb, ...args) => {
        failIfDown();
        if (control.store !== 'loses a reply' || !LOSABLE.has(verb)) return;
        control.store = 'up';
        control.lostReplies += 1;
        const { store } = this.#world.relays()[index];
        await (store[verb] as (...given: unknown[]) => unknown)(...args);
        throw new StoreUnavailable('the reply was lost');
      },
    };
  }

  async execute(asked: Command): Promise<void> {
    this.executed += 1;
    this.#control.store = WITHOUT_FAULTS.has(asked.name) ? 'up' : asked.store;
    await this.#execute(asked);
    this.#control.store = 'up';
    this.#control.lostReplies = 0;
    await this.#expectNothingElse();
  }

  /** Everything ends by itself: polls, sessions, and what is kept of them. */
  async end(): Promise<void> {
    for (const exchange of [...this.#exchanges]) {
      if (!exchange.outlivesLease) await this.#answer(exchange, undefined);
    }
    await this.#advance(SESSION_MS + REPEAT_MS + POLL_MS);
    for (const exchange of [...this.#exchanges]) await this.#answer(exchange, 'too late');
    await this.#expectNothingElse();
    const [first, second] = this.#world.relays();
    await first.sweep();
    expect([this.#polls.size, this.#refreshes.isIdle]).toEqual([0, true]);
    expect([await this.#world.countKept(), first.waiters(), second.waiters()]).toEqual([0, 0, 0]);
    this.#world.close();
  }

  async #execute(asked: Command): Promise<void> {
    const { name, nth, relay } = asked;
    const service = this.#world.relays()[relay];
    switch (name) {
      case 'start':
      case 'start with a code':
      case 'start of a device grant':
        return this.#start(service, asked);
      case 'time passes':
        return this.#advance(asked.pauseMs);
      case 'relay is suspended':
        return this.#suspend(asked.pauseMs);
      case 'relay restarts':
        return this.#restart(relay);
      case 'sweep':
        return this.#control.store === 'down' ? undefined : service.sweep();
      case 'device leaves':
        return this.#leave(nth);
      case 'refresh':
        return this.#refreshes.refresh(service, relay, nth);
      case 'revoke':
        return this.#refreshes.revoke(service, relay);
      case 'provider grants a refresh':
        return this.#answerRefresh(nth, 'grants');
      case 'provider refuses a refresh':
        return this.#answerRefresh(nth, 'refuses');
      case 'provider fails':
        return this.#answerRefresh(nth, 'fails');
      case 'provider grants':
      case 'provider refuses': {
        const exchange = this.#exchanges[nth % this.#exchanges.length];
        if (exchange === undefined || this.#mustWait(exchange)) return;
        return this.#answer(exchange, name === 'provider grants' ? this.#newToken() : undefined);
      }
      default:
        return this.#meet(name, asked);
    }
  }

  /** What a user or a device does with a session. */
  async #meet(name: MeetingName, asked: Command): Promise<void> {
    const device = this.#devices.at(-1 - (asked.nth % Math.max(1, this.#devices.length)));
    const names = name === 'two at once' ? asked.both : [name];
    const needsLink = names.some((each) => each === 'continue' || each === 'decline');
    if (device === undefined || (needsLink && device.link === '')) return;
    const { store } = this.#control;
    const met = `${name}, ${store === 'up' ? device.model.state : `store ${store}`}`;
    this.met.set(met, (this.met.get(met) ?? 0) + 1);
    if (name === 'two at once') return this.#askBoth(device, asked);
    if (name === 'poll') return this.#poll(device, asked);
    if (name === 'code comes back') return this.#comeBack(device, asked, 1);
    if (name === 'code comes back twice at once') return this.#comeBack(device, asked, 2);
    return this.#ask(name, device, asked.relay);
  }

  async #ask(name: RequestName, device: Device, relay: 0 | 1): Promise<void> {
    const request = createRequest(name, device);
    const seen = await request.ask(this.#world.relays()[relay]);
    if (this.#control.store === 'down') return expect(seen).toBe(ANSWER_WHILE_DOWN[name] ?? '503');
    const { answer, answered } = request.apply(this.#model);
    expect(seen).toBe(this.#control.lostReplies > 0 ? '503' : answer);
    return this.#expectAnswered(answered);
  }

  /** Each at another relay: both are answered as if one had come after the other. */
  async #askBoth(device: Device, { both, relay }: Command): Promise<void> {
    const session = device.model;
    // Which of them a parked poll is answered after is not known.
    if (this.#model.hasParked(session)) return;
    this.#control.store = 'up';
    const relays = this.#world.relays();
    const [first, second] = [createRequest(both[0], device), createRequest(both[1], device)];
    const seen = await Promise.all([
      first.ask(relays[relay]),
      second.ask(relays[relay === 0 ? 1 : 0]),
    ]);
    const live = await relays[0].store.countLive();
    const before = { ...session };
    const inOrder = { first: first.apply(this.#model).answer, second: '' };
    inOrder.second = second.apply(this.#model).answer;
    const isInOrder = inOrder.first === seen[0] && inOrder.second === seen[1];
    if (isInOrder && live === this.#model.countLive()) return;
    Object.assign(session, before);
    const reversed = { second: second.apply(this.#model).answer, first: '' };
    reversed.first = first.apply(this.#model).answer;
    if (seen[0] === reversed.first && seen[1] === reversed.second) return;
    expect(seen, 'as one after the other').toEqual([inOrder.first, inOrder.second]);
  }

  async #start(target: TestService, { name, service, hasAck }: Command) {
    const { store } = this.#control;
    const isGrant = name === 'start of a device grant';
    const withCode = name === 'start with a code';
    const members = { ...(hasAck && { ack: true }), ...(withCode && { code: true }) };
    const isBusy = this.#model.countLive() >= MAX_SESSIONS;
    if (store !== 'up' || isBusy) {
      const { status } = await target.ask('/auth/start', startRequest(service, members));
      expect(status).toBe(503);
      // Nobody has its secrets.
      if (store === 'loses a reply' && !isBusy) this.#model.start(service, hasAck);
      return;
    }
    if (isGrant) {
      const { deviceCode, link } = await authorizeDevice(target, {}, service);
      const model = this.#model.start(service, true, true);
      // The browser state is known once the user has continued.
      const state = await continueWithCode(target, link);
      this.#model.open(model);
      this.#devices.push({ model, session: deviceCode, state, link });
      return;
    }
    const { session, state, link } = await start(target, service, members);
    this.#devices.push({ model: this.#model.start(service, hasAck), session, state, link });
  }

  /** The user returns with a code, once or in two tabs: the page comes once the provider has answered. */
  async #comeBack(device: Device, { relay, outlivesLease }: Command, times: 1 | 2): Promise<void> {
    const { service } = device.model;
    const relays = [relay, relay === 0 ? 1 : 0] as const;
    const tabs = relays.slice(0, times).map((index) => {
      this.#codes += 1;
      const code = `code-${this.#codes}`;
      const reply = Promise.withResolvers<Response>();
      this.#control.replies.set(code, reply);
      const asking = callback(this.#world.relays()[index], device.state, `code=${code}`, service);
      return { code, reply, relay: index, page: asking.then(({ status }) => status) };
    });
    const isSent = ({ code }: { code: string }) => !this.#control.replies.has(code);
    if (this.#control.store !== 'down' && this.#model.lease(device.model)) {
      await this.#until(() => tabs.some(isSent));
      await this.#world.settle();
      expect(tabs.filter(isSent).length).toBe(1);
      const startedAtMs = this.#model.nowMs;
      const sent = tabs
        .filter(isSent)
        .map((tab) => ({ device, startedAtMs, outlivesLease, ...tab }));
      this.#exchanges.push(...sent);
    }
    const status = this.#control.store === 'down' ? 503 : 404;
    for (const tab of tabs.filter((each) => !isSent(each))) {
      expect(await tab.page).toBe(status);
      // The provider was not asked.
      expect(this.#control.replies.delete(tab.code)).toBe(true);
    }
  }

  /** Undefined: the provider refuses. */
  async #answer(exchange: Exchange, token: string | undefined): Promise<void> {
    this.#exchanges = this.#exchanges.filter((each) => each !== exchange);
    const { device, reply, page } = exchange;
    const json = token === undefined ? { error: 'invalid_grant' } : { access_token: token };
    reply.resolve(Response.json(json, { status: token === undefined ? 400 : 200 }));
    const status = await page;
    if (this.#control.store === 'down') return expect(status).toBe(503);
    const result = token ?? 'exchange_failed';
    const answered = this.#model.complete(device.model, result, 'exchanging');
    const isGood = answered !== undefined && token !== undefined;
    if (this.#control.lostReplies > 0) expect(status).toBe(503);
    else expect(status === 200).toBe(isGood);
    await this.#expectAnswered(answered);
  }

  /** Until its relay has kept the result, or could not. */
  async #answerRefresh(nth: number, how: Reply): Promise<void> {
    this.#refreshes.answer(nth, how);
    await this.#until(() => this.#refreshes.areFinished);
  }

  #mustWait({ outlivesLease, startedAtMs }: Exchange): boolean {
    return outlivesLease && this.#model.nowMs <= startedAtMs + LEASE_MS;
  }

  async #poll(device: Device, asked: Command): Promise<void> {
    const { relay } = asked;
    // Nothing tells a relay over Redis that a lease ran out: a poll may be held as long as it asks.
    const isHeld = this.#world.restarted === 'one' && this.#model.hasLapsed(device.model);
    const waitSeconds = isHeld ? 0 : asked.waitSeconds;
    const wantsProgress = asked.wantsProgress && !device.model.keepsErrors;
    const leave = new AbortController();
    const options = { wantsProgress, signal: leave.signal };
    const answer = pollFor(this.#world.relays()[relay], device, waitSeconds, options);
    const real: RealPoll = { device, relay, leave };
    void answer.then((seen) => {
      real.seen ??= seen;
    });
    const commands = asked.store === 'loses a reply' ? COMMANDS_OF_A_POLL : 1;
    for (let count = 0; count < commands; count += 1) await this.#world.settle();
    // It waits for the store to come back, as long as it may.
    if (this.#control.store === 'down') {
      if (waitSeconds > 0) leave.abort();
      return this.#expectAnswer(real, '204');
    }
    // Only the hint is lost.
    if (this.#control.lostReplies > 0) this.#model.takeOpenedNotice(device.model);
    const expected = this.#model.poll(device.model, waitSeconds * 1_000, wantsProgress);
    if (typeof expected === 'string') return this.#expectAnswer(real, expected);
    this.#polls.set(expected, real);
  }

  async #expectAnswer(poll: RealPoll, expected: Answer): Promise<void> {
    await this.#until(() => poll.seen !== undefined);
    expect(poll.seen).toBe(expected);
  }

  /** If its user is just back from the provider, tokens may come in the same moment: they are not lost. */
  async #leave(nth: number): Promise<void> {
    const entry = [...this.#polls][nth % Math.max(1, this.#polls.size)];
    if (entry === undefined) return;
    const [poll, real] = entry;
    this.#cut(poll, real);
    const exchange = this.#exchanges.find(({ device }) => device === real.device);
    if (exchange !== undefined && !this.#mustWait(exchange)) {
      await this.#answer(exchange, this.#newToken());
    }
    await this.#world.settle();
  }

  #cut(poll: Poll, real: RealPoll): void {
    real.seen = 'cut';
    real.leave.abort();
    this.#forget(poll);
  }

  /** Killed: whoever waited at it gets no answer, and its leases end by themselves. */
  async #restart(index: 0 | 1): Promise<void> {
    const world = this.#world;
    const isKilled = (relay: 0 | 1) => world.restarted === 'all' || relay === index;
    for (const [poll, real] of this.#polls) if (isKilled(real.relay)) this.#cut(poll, real);
    await world.settle();
    this.#exchanges = this.#exchanges.filter(({ relay }) => !isKilled(relay));
    for (const relay of [0, 1] as const) {
      if (!isKilled(relay)) continue;
      this.#restarts[relay] += 1;
      this.#refreshes.restarted(relay, world);
    }
    await world.restart(index);
    // For 20 s nobody knows whether the killed relay still undoes a delivery, so another poll gets
    // a 204 or a 410 (test/redis/lost-answers.test.ts).
    if (world.restarted === 'one') {
      this.#devices = this.#devices.filter(({ model }) => model.state !== 'gone');
    }
    if (!world.storeSurvives) this.#model.forgetAll();
  }

  #newToken(): string {
    this.#tokens += 1;
    return `tokens-${this.#tokens}`;
  }

  async #advance(ms: number): Promise<void> {
    const untilMs = this.#model.nowMs + ms;
    for (;;) {
      const oldest = this.#exchanges.find(({ outlivesLease }) => !outlivesLease);
      const givesUpAtMs = oldest ? oldest.startedAtMs + PROVIDER_MS : Number.POSITIVE_INFINITY;
      const byItselfMs = Math.min(this.#model.nextMs(), this.#refreshes.nextMs());
      const nextMs = Math.min(untilMs, byItselfMs, givesUpAtMs);
      this.#world.clock.advance(nextMs - this.#model.nowMs);
      await this.#until(() => this.#refreshes.areFinished);
      for (const answered of this.#model.advanceTo(nextMs)) await this.#expectAnswered(answered);
      if (oldest !== undefined && nextMs === givesUpAtMs) await this.#answer(oldest, undefined);
      if (nextMs === untilMs) return;
    }
  }

  /** Both relays: time passes, and no timer runs until it is over. The provider has answered before. */
  async #suspend(ms: number): Promise<void> {
    const { clock } = this.#world;
    for (const exchange of [...this.#exchanges]) {
      if (!exchange.outlivesLease) await this.#answer(exchange, undefined);
    }
    clock.stall(ms);
    clock.advance(GRACE_MS);
    await this.#world.settle();
    const nowMs = this.#model.nowMs + ms + GRACE_MS;
    for (const answered of this.#model.advanceTo(nowMs)) await this.#expectAnswered(answered);
  }

  async #expectAnswered(answered: Answered | undefined): Promise<void> {
    if (answered === undefined) return;
    const { polls, one, others } = answered;
    const rest = Array.from({ length: polls.length - 1 }, () => others);
    const expected = polls.length === 0 ? [] : [one, ...rest];
    const seen = () => polls.map((poll) => this.#polls.get(poll)?.seen);
    const count = (answers: readonly unknown[]) => answers.filter((each) => each).length;
    await this.#until(() => count(seen()) >= count(expected));
    expect(seen().toSorted()).toEqual(expected.toSorted());
    for (const poll of polls) if (this.#polls.get(poll)?.seen !== undefined) this.#forget(poll);
  }

  /** What is not so in the end is for the caller to notice. */
  async #until(isSo: () => boolean | Promise<boolean>): Promise<void> {
    for (let tries = 0; tries < this.#world.tries; tries += 1) {
      await this.#world.settle();
      if (await isSo()) return;
    }
  }

  #forget(poll: Poll): void {
    this.#polls.delete(poll);
    this.#model.parked.delete(poll);
  }

  /** No poll is answered that should not be, and the sessions are counted exactly. */
  async #expectNothingElse(): Promise<void> {
    let counted = { parked: 0, live: undefined as number | undefined };
    await this.#until(async () => {
      counted = await this.#count();
      const { areFinished, isAnswered } = this.#refreshes;
      return areFinished && isAnswered && counted.parked === this.#polls.size;
    });
    this.#refreshes.check();
    expect(counted).toEqual({ parked: this.#polls.size, live: this.#model.countLive() });
    for (const { seen } of this.#polls.values()) expect(seen).toBeUndefined();
  }

  async #count() {
    const [first, second] = this.#world.relays();
    const states = await Promise.all([first.readState(), second.readState()]);
    const parked = states[0].parkedPolls + states[1].parkedPolls;
    return { parked, live: states[0].liveSessions };
  }
}
