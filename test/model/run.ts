/**
 * Drives a relay and the model (model.ts) with the same random commands (commands.ts), and
 * compares every answer. The relay is whole, behind its fetch handlers; time and the provider
 * are the test's. What is answered at once is in requests.ts; what takes time is in polls.ts
 * and exchanges.ts.
 */
import { expect } from 'bun:test';
import { start, startRequest } from '../kit/device.ts';
import { StoreUnavailable, type TestService } from '../kit/service.ts';
import type { Command } from './commands.ts';
import { Exchanges } from './exchanges.ts';
import { Model, POLL_MS, REPEAT_MS, SESSION_MS } from './model.ts';
import { Polls } from './polls.ts';
import { createRequest, type Device, type RequestName } from './requests.ts';
import { StoreFaults } from './store-faults.ts';
import { createWorld, type Hooks, type Kind, until, type World } from './worlds.ts';

const MAX_SESSIONS = 6;
/** A relay that was suspended first reads what has arrived meanwhile. */
const GRACE_MS = 250;

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

/** Gives up with the command that was answered otherwise than the model says. */
export class Run {
  /** How often each event met a session in each state. */
  readonly met = new Map<string, number>();
  executed = 0;
  #devices: Device[] = [];
  readonly #faults = new StoreFaults();
  /** How often each relay has restarted: what is left of a killed one does nothing more. */
  readonly #restarts: [number, number] = [0, 0];
  #world!: World;
  #model!: Model;
  #polls!: Polls;
  #exchanges!: Exchanges;

  static async start(kind: Kind): Promise<Run> {
    const run = new Run();
    const faults = run.#faults;
    const world = await createWorld(kind, MAX_SESSIONS, (relay) => run.#createHooks(relay));
    const model = new Model(world.clock.now());
    const polls = new Polls(world, model, faults);
    run.#world = world;
    run.#model = model;
    run.#polls = polls;
    run.#exchanges = new Exchanges(world, model, faults, polls);
    return run;
  }

  #createHooks(index: 0 | 1): Hooks {
    const faults = this.#faults;
    const restarts = this.#restarts[index];
    return {
      fetch: async (_url, { body }) => {
        const code = new URLSearchParams(String(body)).get('code');
        return this.#exchanges.receive(String(code));
      },
      beforeStore: (what, ask) => {
        const isKilled = restarts !== this.#restarts[index];
        if (isKilled || faults.isDown) throw new StoreUnavailable('down');
        return faults.loseReply(what, ask);
      },
    };
  }

  async execute(asked: Command): Promise<void> {
    this.executed += 1;
    this.#faults.begin(asked);
    await this.#execute(asked);
    this.#faults.end();
    await this.#expectNothingElse();
  }

  /** Lets polls, sessions and what is kept of them expire. */
  async end(): Promise<void> {
    await this.#exchanges.refuseAll();
    await this.#advance(SESSION_MS + REPEAT_MS + POLL_MS);
    await this.#exchanges.grantAllTooLate();
    await this.#expectNothingElse();
    const [first, second] = this.#world.relays();
    await first.sweep();
    expect(this.#polls.size).toBe(0);
    expect([
      await this.#world.countKept(),
      await first.countParked(),
      await second.countParked(),
    ]).toEqual([0, 0, 0]);
    this.#world.close();
  }

  async #execute(asked: Command): Promise<void> {
    const { name, nth, relay } = asked;
    const service = this.#world.relays()[relay];
    switch (name) {
      case 'start':
        return this.#start(service, asked);
      case 'time passes':
        return this.#advance(asked.pauseMs);
      case 'relay is suspended':
        return this.#suspend(asked.pauseMs);
      case 'relay restarts':
        return this.#restart(relay);
      case 'sweep':
        return this.#faults.isDown ? undefined : service.sweep();
      case 'device leaves':
        return this.#leave(nth);
      case 'provider grants':
        return this.#exchanges.answer(nth, 'grants');
      case 'provider refuses':
        return this.#exchanges.answer(nth, 'refuses');
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
    const store = this.#faults.state;
    const met = `${name}, ${store === 'up' ? device.model.state : `store ${store}`}`;
    this.met.set(met, (this.met.get(met) ?? 0) + 1);
    if (name === 'two at once') return this.#askBoth(device, asked);
    if (name === 'poll') return this.#polls.poll(device, asked);
    if (name === 'code comes back') return this.#exchanges.comeBack(device, asked, 1);
    if (name === 'code comes back twice at once') {
      return this.#exchanges.comeBack(device, asked, 2);
    }
    return this.#ask(name, device, asked.relay);
  }

  async #ask(name: RequestName, device: Device, relay: 0 | 1): Promise<void> {
    const request = createRequest(name, device);
    const seen = await request.ask(this.#world.relays()[relay]);
    if (this.#faults.isDown) return expect(seen).toBe(ANSWER_WHILE_DOWN[name] ?? '503');
    const { answer, answered } = request.apply(this.#model);
    expect(seen).toBe(this.#faults.hasLostReply ? '503' : answer);
    return this.#polls.expectAnswered(answered);
  }

  /** Each at another relay: both are answered as if one had come after the other. */
  async #askBoth(device: Device, { both, relay }: Command): Promise<void> {
    const session = device.model;
    // A parked poll may be answered after either of them, and the model cannot know which.
    if (this.#model.countParked(session) > 0) return;
    const relays = this.#world.relays();
    const [first, second] = [createRequest(both[0], device), createRequest(both[1], device)];
    const seen = await Promise.all([
      first.ask(relays[relay]),
      second.ask(relays[relay === 0 ? 1 : 0]),
    ]);
    const live = await relays[0].store.countLive();
    const before = { ...session };
    const inOrder = [first.apply(this.#model).answer, second.apply(this.#model).answer];
    if (Bun.deepEquals(seen, inOrder) && live === this.#model.countLive()) return;
    Object.assign(session, before);
    const reversed = [second.apply(this.#model).answer, first.apply(this.#model).answer].reverse();
    if (Bun.deepEquals(seen, reversed)) return;
    expect<string[]>(seen, 'as one after the other').toEqual(inOrder);
  }

  async #start(target: TestService, { service, hasAck, hasCode }: Command) {
    const store = this.#faults.state;
    const members = { ack: hasAck, code: hasCode };
    const isBusy = this.#model.countLive() >= MAX_SESSIONS;
    if (store === 'up' && !isBusy) {
      const { session, state, link } = await start(target, service, members);
      this.#devices.push({ model: this.#model.start(service, hasAck), session, state, link });
      return;
    }
    const refused = await target.ask('/auth/start', startRequest(service, members));
    expect(refused.status).toBe(503);
    // Nobody has its secrets.
    if (store === 'loses a reply' && !isBusy) this.#model.start(service, hasAck);
  }

  /** A device disconnects. If its user is just back from the provider, tokens may come in the same moment, and must not be lost. */
  async #leave(nth: number): Promise<void> {
    const device = this.#polls.leave(nth);
    if (device === undefined) return;
    await this.#exchanges.grantFor(device);
    await this.#world.settle();
  }

  /** A killed relay: requests that waited there get no response, and its leases expire. */
  async #restart(index: 0 | 1): Promise<void> {
    const world = this.#world;
    const killed = world.killedWith(index);
    this.#polls.cutAt(killed);
    await world.settle();
    this.#exchanges.forgetAt(killed);
    for (const relay of killed) this.#restarts[relay] += 1;
    await world.restart(index);
    if (!world.storeSurvives) this.#model.forgetAll();
  }

  async #advance(ms: number): Promise<void> {
    const untilMs = this.#model.nowMs + ms;
    for (;;) {
      const refusedAtMs = this.#exchanges.nextMs();
      const nextMs = Math.min(untilMs, this.#model.nextMs(), refusedAtMs);
      this.#world.clock.advance(nextMs - this.#model.nowMs);
      await this.#world.settle();
      await this.#pass(nextMs);
      if (nextMs === refusedAtMs) await this.#exchanges.refuseOldest();
      if (nextMs === untilMs) return;
    }
  }

  /** Checks what the model answers by then. */
  async #pass(nowMs: number): Promise<void> {
    for (const answered of this.#model.advanceTo(nowMs)) await this.#polls.expectAnswered(answered);
  }

  /** Both relays: time passes, and no timer runs until it is over. The provider has answered before. */
  async #suspend(ms: number): Promise<void> {
    const { clock } = this.#world;
    await this.#exchanges.refuseAll();
    clock.stall(ms);
    clock.advance(GRACE_MS);
    await this.#world.settle();
    await this.#pass(this.#model.nowMs + ms + GRACE_MS);
  }

  /** No poll is answered that should not be, and the sessions are counted exactly. */
  async #expectNothingElse(): Promise<void> {
    let counted = { parked: 0, live: undefined as number | undefined };
    await until(this.#world, async () => {
      counted = await this.#count();
      return counted.parked === this.#polls.size;
    });
    expect(counted).toEqual({ parked: this.#polls.size, live: this.#model.countLive() });
    this.#polls.expectNoneAnswered();
  }

  async #count() {
    const [first, second] = this.#world.relays();
    const states = await Promise.all([first.readState(), second.readState()]);
    const parked = states[0].parkedPolls + states[1].parkedPolls;
    return { parked, live: states[0].liveSessions };
  }
}
