/**
 * Drives a relay and the model (model.ts) with the same random commands, and compares every
 * answer. The relay is whole, behind its fetch handlers; time and the provider are the test's.
 */
import { expect } from 'bun:test';
import fc from 'fast-check';
import { acknowledge, authorizeDevice, pollToken, start, startRequest } from '../kit/device.ts';
import { StoreUnavailable, type TestService, type TestServiceOptions } from '../kit/service.ts';
import { callback, continueWithCode, decide } from '../kit/user.ts';
import {
  type Answer,
  type Answered,
  LEASE_MS,
  Model,
  type ModelSession,
  POLL_MS,
  type Poll,
  REPEAT_MS,
  SESSION_MS,
} from './model.ts';

const MAX_SESSIONS = 6;
/** Long before a relay gives up waiting for the provider, which would be at a moment that the model does not know. */
const PROVIDER_MS = 10_000;

/** How often the test looks whether a relay over Redis has done what it must: for ten seconds and more. */
const TRIES = 5_000;

const SERVICES = ['mal', 'mal', 'anilist'] as const;

/** On both sides of what ends by itself. */
const pauses = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(1, 250, 1_000, 5_000) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(POLL_MS, LEASE_MS, LEASE_MS + 1, REPEAT_MS, REPEAT_MS + 1),
  },
  { weight: 1, arbitrary: fc.constantFrom(SESSION_MS, SESSION_MS + 1) },
);

const COMMANDS = {
  start: 4,
  'start with a code': 2,
  'start of a device grant': 2,
  open: 4,
  continue: 2,
  decline: 1,
  'code comes back': 6,
  'code comes back at another service': 1,
  'error comes back': 1,
  'nothing comes back': 1,
  'provider grants': 6,
  'provider refuses': 2,
  poll: 10,
  'device leaves': 3,
  acknowledge: 2,
  cancel: 1,
  'time passes': 6,
  sweep: 1,
} as const;
export type CommandName = keyof typeof COMMANDS;

const fields = fc.record({
  name: fc.oneof(
    ...Object.entries(COMMANDS).map(([name, weight]) => ({
      weight,
      arbitrary: fc.constant(name as CommandName),
    })),
  ),
  /** Which of the sessions, polls or exchanges there are; the youngest most of all. */
  nth: fc.oneof(
    { weight: 3, arbitrary: fc.nat({ max: 2 }) },
    { weight: 1, arbitrary: fc.nat({ max: 9 }) },
  ),
  service: fc.constantFrom(...SERVICES),
  hasAck: fc.boolean(),
  wantsProgress: fc.boolean(),
  waitSeconds: fc.constantFrom(0, 1, 5, 50, 50),
  pauseMs: pauses,
  /** Which of two relays on one store is asked. */
  relay: fc.nat({ max: 1 }),
  /** The store answers nothing while the command runs. */
  isStoreDown: fc.oneof(
    { weight: 15, arbitrary: fc.constant(false) },
    { weight: 1, arbitrary: fc.constant(true) },
  ),
});
/** A counter-example is a list of what happened, not of what each event might have used. */
export const command = fields.map((asked) => ({
  ...asked,
  [fc.toStringMethod]: () => describeCommand(asked),
}));
export type Command = typeof fields extends fc.Arbitrary<infer Value> ? Value : never;

interface Device {
  readonly model: ModelSession;
  readonly session: string;
  readonly state: string;
  readonly link: string;
}

interface Exchange {
  readonly device: Device;
  readonly startedAtMs: number;
  readonly reply: PromiseWithResolvers<Response>;
  readonly page: Promise<number>;
}

/** What the world does next. */
interface Control {
  /** Of the provider, by code; each code is sent once. */
  readonly replies: Map<string, PromiseWithResolvers<Response>>;
  isStoreDown: boolean;
}

interface RealPoll {
  readonly device: Device;
  readonly answer: Promise<Answer>;
  readonly leave: AbortController;
  /** Once it is answered. */
  seen?: Answer | 'cut';
}

/** Two relays on one store. */
export interface World {
  readonly relays: readonly [TestService, TestService];
  /** Resolves once everything that is ready has happened. */
  settle(): Promise<void>;
  /** What of the sessions is left in the store. */
  countKept(): Promise<number>;
  close(): void;
}

/** What the relays of a world are created with. */
export type Hooks = Required<Pick<TestServiceOptions, 'fetch' | 'beforeVerb'>>;
export type OpenWorld = (settings: { maxSessions: number }, hooks: Hooks) => Promise<World>;

/** Gives up with the command that was answered otherwise than the model says. */
export class Run {
  /** How often each event met a session in each state. */
  readonly met = new Map<string, number>();
  executed = 0;
  readonly #devices: Device[] = [];
  readonly #exchanges: Exchange[] = [];
  readonly #polls = new Map<Poll, RealPoll>();
  readonly #model: Model;
  readonly #world: World;
  readonly #control: Control;
  #codes = 0;
  #tokens = 0;

  static async start(open: OpenWorld): Promise<Run> {
    const control: Control = { replies: new Map(), isStoreDown: false };
    const fetch = async (_url: string, init: { readonly body?: unknown }) => {
      const code = new URLSearchParams(String(init.body)).get('code') ?? '';
      const reply = control.replies.get(code);
      if (reply === undefined) throw new Error('a code that was not given, or was sent twice');
      control.replies.delete(code);
      return reply.promise;
    };
    const beforeVerb = () => {
      if (control.isStoreDown) throw new StoreUnavailable('down');
    };
    return new Run(await open({ maxSessions: MAX_SESSIONS }, { fetch, beforeVerb }), control);
  }

  private constructor(world: World, control: Control) {
    this.#world = world;
    this.#control = control;
    this.#model = new Model(world.relays[0].clock.now());
  }

  async execute(asked: Command): Promise<void> {
    this.executed += 1;
    this.#control.isStoreDown = asked.isStoreDown && asked.name !== 'time passes';
    await this.#execute(asked);
    this.#control.isStoreDown = false;
    await this.#expectNothingElse();
  }

  /** Everything ends by itself: polls, sessions, and what is kept of them. */
  async end(): Promise<void> {
    for (const exchange of this.#exchanges.splice(0)) await this.#answer(exchange, undefined);
    await this.#advance(SESSION_MS + REPEAT_MS + POLL_MS);
    const [first, second] = this.#world.relays;
    await first.sweep();
    expect(this.#polls.size).toBe(0);
    expect([await this.#world.countKept(), first.waiters(), second.waiters()]).toEqual([0, 0, 0]);
    this.#world.close();
  }

  async #execute(asked: Command): Promise<void> {
    const { name, nth, isStoreDown } = asked;
    const service = this.#world.relays[asked.relay] ?? this.#world.relays[0];
    if (name.startsWith('start')) return this.#start(service, asked);
    if (name === 'time passes') return this.#advance(asked.pauseMs);
    if (name === 'sweep') return isStoreDown ? undefined : service.sweep();
    if (name === 'device leaves') return this.#leave(nth);
    if (name === 'provider grants' || name === 'provider refuses') {
      const exchange = this.#exchanges[nth % this.#exchanges.length];
      if (exchange === undefined) return;
      return this.#answer(exchange, name === 'provider grants' ? this.#newToken() : undefined);
    }
    const device = this.#devices.at(-1 - (nth % Math.max(1, this.#devices.length)));
    const needsLink = name === 'continue' || name === 'decline';
    if (device === undefined || (needsLink && device.link === '')) return;
    const met = `${name}, ${isStoreDown ? 'store down' : device.model.state}`;
    this.met.set(met, (this.met.get(met) ?? 0) + 1);
    return this.#meet(service, device, asked);
  }

  /** What a user or a device does with a session. */
  async #meet(service: TestService, device: Device, asked: Command): Promise<void> {
    const { name, isStoreDown } = asked;
    switch (name) {
      case 'open': {
        const { status } = await service.ask(`/auth/${device.model.service}?state=${device.state}`);
        if (isStoreDown) return expect(status).toBe(503);
        expect(status).toBe(this.#model.isPending(device.model) ? 302 : 404);
        return this.#expectAnswered(this.#model.open(device.model));
      }
      case 'continue': {
        const { status } = await decide(service, device.link);
        if (isStoreDown) return expect(status).toBe(503);
        expect(status === 303).toBe(this.#model.isPending(device.model));
        return this.#expectAnswered(this.#model.open(device.model));
      }
      case 'decline': {
        const { status } = await decide(service, device.link, 'decline');
        if (isStoreDown) return expect(status).toBe(503);
        return this.#expectAnswered(this.#model.complete(device.model, 'access_denied', 'pending'));
      }
      case 'code comes back':
        return this.#comeBack(service, device, isStoreDown);
      case 'code comes back at another service': {
        const other = device.model.service === 'mal' ? 'anilist' : 'mal';
        const { status } = await callback(service, device.state, 'code=c', other);
        return expect(status).toBe(isStoreDown ? 503 : 404);
      }
      case 'error comes back':
      case 'nothing comes back': {
        const [query, error] =
          name === 'error comes back'
            ? ['error=server_error', 'authorization_failed']
            : ['code=', 'missing_code'];
        const { status } = await callback(service, device.state, query, device.model.service);
        if (isStoreDown) return expect(status).toBe(503);
        const answered = this.#model.complete(device.model, error, 'pending');
        expect(status === 404).toBe(answered === undefined);
        return this.#expectAnswered(answered);
      }
      case 'poll':
        return this.#poll(service, device, asked);
      case 'acknowledge': {
        const { status } = await acknowledge(service, device.session);
        return expect(status).toBe(isStoreDown ? 503 : this.#model.acknowledge(device.model));
      }
      case 'cancel': {
        const { status } = await service.ask(`/auth/result?session=${device.session}&cancel=1`);
        if (isStoreDown) return expect(status).toBe(503);
        const cancelled = this.#model.cancel(device.model);
        expect(status).toBe(cancelled.status);
        return this.#expectAnswered(cancelled.answered);
      }
    }
  }

  async #start(target: TestService, { name, service, hasAck, isStoreDown }: Command) {
    const withCode = name === 'start with a code';
    const members = { ...(hasAck && { ack: true }), ...(withCode && { code: true }) };
    if (isStoreDown || this.#model.countLive() >= MAX_SESSIONS) {
      const { status } = await target.ask('/auth/start', startRequest(service, members));
      return expect(status).toBe(503);
    }
    if (name === 'start of a device grant') {
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

  /** The user returns with a code: the page comes once the provider has answered. */
  async #comeBack(service: TestService, device: Device, isStoreDown: boolean): Promise<void> {
    this.#codes += 1;
    const code = `code-${this.#codes}`;
    const reply = Promise.withResolvers<Response>();
    this.#control.replies.set(code, reply);
    const asking = callback(service, device.state, `code=${code}`, device.model.service);
    const page = asking.then(({ status }) => status);
    if (isStoreDown) {
      expect(await page).toBe(503);
    } else if (this.#model.lease(device.model)) {
      await this.#until(() => !this.#control.replies.has(code));
      expect(this.#control.replies.has(code)).toBe(false);
      this.#exchanges.push({ device, startedAtMs: this.#model.nowMs, reply, page });
      return;
    } else {
      expect(await page).toBe(404);
    }
    // The provider was not asked.
    expect(this.#control.replies.delete(code)).toBe(true);
  }

  /** Undefined: it refuses. */
  async #answer(exchange: Exchange, token: string | undefined): Promise<void> {
    this.#exchanges.splice(this.#exchanges.indexOf(exchange), 1);
    const { device, reply, page } = exchange;
    const json = token === undefined ? { error: 'invalid_grant' } : { access_token: token };
    reply.resolve(Response.json(json, { status: token === undefined ? 400 : 200 }));
    const status = await page;
    if (this.#control.isStoreDown) return expect(status).toBe(503);
    const result = token ?? 'exchange_failed';
    const answered = this.#model.complete(device.model, result, 'exchanging');
    const isGood = answered !== undefined && token !== undefined;
    expect(status === 200).toBe(isGood);
    await this.#expectAnswered(answered);
  }

  async #poll(service: TestService, device: Device, asked: Command): Promise<void> {
    const { waitSeconds, isStoreDown } = asked;
    const isGrant = device.model.keepsErrors;
    const wantsProgress = asked.wantsProgress && !isGrant;
    const leave = new AbortController();
    const { signal } = leave;
    const query = `session=${device.session}&wait=${waitSeconds}${wantsProgress ? '&progress=1' : ''}`;
    const answer = isGrant
      ? pollGrant(service, device, waitSeconds, signal)
      : service.ask(`/auth/result?${query}`, { signal }).then(describeAnswer);
    const real: RealPoll = { device, answer, leave };
    answer.then((seen) => {
      real.seen ??= seen;
    });
    await this.#world.settle();
    // It waits for the store to come back, as long as it may.
    if (isStoreDown && waitSeconds === 0) return expect(await answer).toBe('204');
    if (isStoreDown) {
      leave.abort();
      expect(await answer).toBe('204');
      return;
    }
    const expected = this.#model.poll(device.model, waitSeconds * 1_000, wantsProgress);
    if (typeof expected === 'string') expect(await answer).toBe(expected);
    else this.#polls.set(expected, real);
  }

  /** If its user is just back from the provider, tokens may come in the same moment: they are not lost. */
  async #leave(nth: number): Promise<void> {
    const entry = [...this.#polls][nth % Math.max(1, this.#polls.size)];
    if (entry === undefined) return;
    const [poll, real] = entry;
    real.seen = 'cut';
    real.leave.abort();
    this.#forget(poll);
    const exchange = this.#exchanges.find(({ device }) => device === real.device);
    if (exchange !== undefined) await this.#answer(exchange, this.#newToken());
    await this.#world.settle();
  }

  #newToken(): string {
    this.#tokens += 1;
    return `tokens-${this.#tokens}`;
  }

  async #advance(ms: number): Promise<void> {
    const untilMs = this.#model.nowMs + ms;
    const [{ clock }] = this.#world.relays;
    for (;;) {
      const oldest = this.#exchanges[0];
      const givesUpAtMs = oldest ? oldest.startedAtMs + PROVIDER_MS : Number.POSITIVE_INFINITY;
      const nextMs = Math.min(untilMs, this.#model.nextMs(), givesUpAtMs);
      clock.advance(nextMs - this.#model.nowMs);
      await this.#world.settle();
      for (const answered of this.#model.advanceTo(nextMs)) await this.#expectAnswered(answered);
      if (oldest !== undefined && nextMs === givesUpAtMs) await this.#answer(oldest, undefined);
      if (nextMs === untilMs) return;
    }
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
    for (let tries = 0; tries < TRIES; tries += 1) {
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
    await this.#until(async () => (await this.#countParked()) === this.#polls.size);
    expect(await this.#countParked()).toBe(this.#polls.size);
    for (const { seen } of this.#polls.values()) expect(seen).toBeUndefined();
    const [{ store }] = this.#world.relays;
    expect(await store.countLive()).toBe(this.#model.countLive());
  }

  async #countParked(): Promise<number> {
    const states = await Promise.all(this.#world.relays.map(({ readState }) => readState()));
    return states.reduce((all, { parkedPolls }) => all + parkedPolls, 0);
  }
}

function describeCommand(asked: Command): string {
  const { name, nth, service, hasAck, wantsProgress, waitSeconds, pauseMs, relay } = asked;
  const flags = asked.isStoreDown ? ' (store down)' : '';
  if (name.startsWith('start')) return `${name} ${service}${hasAck ? ' ack' : ''}${flags}`;
  if (name === 'time passes') return `${pauseMs} ms`;
  if (name !== 'poll') return `${name} ${nth} at ${relay}${flags}`;
  return `poll ${nth} at ${relay} for ${waitSeconds} s${wantsProgress ? ' progress' : ''}${flags}`;
}

async function pollGrant(
  service: TestService,
  { session, model }: Device,
  waitSeconds: number,
  signal: AbortSignal,
): Promise<Answer> {
  const init = { headers: { Prefer: `wait=${waitSeconds}` }, signal };
  const { body } = await pollToken(service, session, {}, init, model.service);
  const { error, access_token } = body as Record<string, string>;
  if (error === 'authorization_pending' || error === 'slow_down') return '204';
  return error === 'expired_token' ? '410' : `200 ${access_token ?? error}`;
}

async function describeAnswer(response: Response): Promise<Answer> {
  if (response.status !== 200) return String(response.status) as Answer;
  const { progress, accessToken, error } = (await response.json()) as Record<string, string>;
  return progress === undefined ? `200 ${accessToken ?? error}` : 'opened';
}
