/** Polls that may be held: each is answered with what the model says, when the model says so. */
import { expect } from 'bun:test';
import type { Command } from './commands.ts';
import type { Answer, Answered, Model, Poll } from './model.ts';
import { type Device, pollFor } from './requests.ts';
import type { StoreFaults } from './store-faults.ts';
import { until, type World } from './worlds.ts';

/** Over Redis: a poll finds its session, takes its result, and asks whether the link was opened. */
const COMMANDS_OF_A_POLL = 3;
/** The parked polls that one session may have. */
const MAX_PARKED = 4;

interface RealPoll {
  readonly device: Device;
  readonly relay: 0 | 1;
  readonly leave: AbortController;
  /** Once it is answered. */
  seen?: Answer | 'cut';
}

export class Polls {
  /** Those that are parked, in the model and at a relay. */
  readonly #parked = new Map<Poll, RealPoll>();

  constructor(
    readonly world: World,
    readonly model: Model,
    readonly faults: StoreFaults,
  ) {}

  get size(): number {
    return this.#parked.size;
  }

  async poll(device: Device, asked: Command): Promise<void> {
    const { world, model, faults } = this;
    const { relay, waitSeconds, wantsProgress } = asked;
    // One more would end one of them, which the model does not know: test/http/polls.test.ts.
    if (model.countParked(device.model) === MAX_PARKED) return;
    const leave = new AbortController();
    const options = { wantsProgress, signal: leave.signal };
    const answer = pollFor(world.relays()[relay], device, waitSeconds, options);
    const real: RealPoll = { device, relay, leave };
    void answer.then((seen) => {
      real.seen ??= seen;
    });
    const commands = asked.store === 'loses a reply' ? COMMANDS_OF_A_POLL : 1;
    for (let count = 0; count < commands; count += 1) await world.settle();
    // It waits for the store to come back, as long as it may.
    if (faults.isDown) {
      if (waitSeconds > 0) leave.abort();
      return this.#expectAnswer(real, '204');
    }
    // The store has recorded that the opening was reported, but the device did not learn it.
    if (faults.hasLostReply) model.consumeOpenedEvent(device.model);
    const expected = model.poll(device.model, waitSeconds * 1_000, wantsProgress);
    if (typeof expected === 'string') return this.#expectAnswer(real, expected);
    this.#parked.set(expected, real);
  }

  async #expectAnswer(poll: RealPoll, expected: Answer): Promise<void> {
    await until(this.world, () => poll.seen !== undefined);
    expect(poll.seen).toBe(expected);
  }

  /** The device of the nth poll disconnects. Returns it; undefined: there is none. */
  leave(nth: number): Device | undefined {
    const entry = [...this.#parked][nth % Math.max(1, this.#parked.size)];
    if (entry === undefined) return undefined;
    this.#cut(...entry);
    return entry[1].device;
  }

  /** A poll that waits at a relay that is killed gets no answer. */
  cutAt(killed: readonly (0 | 1)[]): void {
    for (const [poll, real] of this.#parked) if (killed.includes(real.relay)) this.#cut(poll, real);
  }

  #cut(poll: Poll, real: RealPoll): void {
    real.seen = 'cut';
    real.leave.abort();
    this.#forget(poll);
  }

  async expectAnswered(answered: Answered | undefined): Promise<void> {
    if (answered === undefined) return;
    const { polls, one, others } = answered;
    const rest = Array.from({ length: polls.length - 1 }, () => others);
    const expected = polls.length === 0 ? [] : [one, ...rest];
    const seen = () => polls.map((poll) => this.#parked.get(poll)?.seen);
    const count = (answers: readonly unknown[]) => answers.filter((each) => each).length;
    await until(this.world, () => count(seen()) >= count(expected));
    expect(seen().toSorted()).toEqual(expected.toSorted());
    for (const poll of polls) if (this.#parked.get(poll)?.seen !== undefined) this.#forget(poll);
  }

  expectNoneAnswered(): void {
    for (const { seen } of this.#parked.values()) expect(seen).toBeUndefined();
  }

  #forget(poll: Poll): void {
    this.#parked.delete(poll);
    this.model.parked.delete(poll);
  }
}
