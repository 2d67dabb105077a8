/** What the store does while one command runs: it works, it is down, or one of its replies is lost. */
import type { SessionStore } from '../../src/relay/store.ts';
import { StoreUnavailable, type Verb } from '../kit/service.ts';
import type { Command } from './commands.ts';

/** A reply of these may be lost. A store itself repeats a lease or a claim (test/redis/lost-answers.test.ts). */
const LOSABLE: ReadonlySet<Verb> = new Set([
  ...(['register', 'authorize', 'fail', 'complete'] as const),
  ...(['acknowledge', 'takeOpenedNotice', 'cancel'] as const),
]);

/** Those that are no request to a relay, or have their own faults. */
const WITHOUT_FAULTS: ReadonlySet<Command['name']> = new Set([
  ...(['time passes', 'relay is suspended', 'relay restarts', 'two at once'] as const),
  'code comes back twice at once',
]);

export class StoreFaults {
  /** What it does next. */
  state: Command['store'] = 'up';
  /** While the command runs. */
  hasLostReply = false;

  begin({ name, store }: Command): void {
    this.state = WITHOUT_FAULTS.has(name) ? 'up' : store;
  }

  end(): void {
    this.state = 'up';
    this.hasLostReply = false;
  }

  get isDown(): boolean {
    return this.state === 'down';
  }

  /** If one is to be lost: the store carries the verb out, and the relay does not learn of it. Once for each command. */
  async loseReply(store: SessionStore, verb: Verb, args: readonly unknown[]): Promise<void> {
    if (this.state !== 'loses a reply' || !LOSABLE.has(verb)) return;
    this.state = 'up';
    this.hasLostReply = true;
    await (store[verb] as (...given: readonly unknown[]) => unknown)(...args);
    throw new StoreUnavailable('the reply was lost');
  }
}
