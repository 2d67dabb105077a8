/** What the store does while one command runs: it works, it is down, or one of its replies is lost. */
import { type Asked, StoreUnavailable } from '../kit/service.ts';
import type { Command } from './commands.ts';

/** A reply of these may be lost. A store itself repeats a lease or a poll (test/redis/lost-answers.test.ts). */
const LOSABLE: ReadonlySet<Asked> = new Set([
  ...(['create', 'open', 'fail', 'complete', 'acknowledge', 'cancel'] as const),
]);

/** Those that are no request to a relay, or have their own faults. */
const WITHOUT_FAULTS: ReadonlySet<Command['name']> = new Set([
  ...(['time passes', 'relay is suspended', 'relay restarts', 'two at once'] as const),
  'code comes back twice at once',
]);

export class StoreFaults {
  /** What the store does next. */
  state: Command['store'] = 'up';
  /** True once a reply of the current command was lost. */
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

  /** Loses a reply if the command says so, once: the store does what it is asked, and the relay does not learn of it. */
  async loseReply(asked: Asked, ask: () => unknown): Promise<void> {
    if (this.state !== 'loses a reply' || !LOSABLE.has(asked)) return;
    this.state = 'up';
    this.hasLostReply = true;
    await ask();
    throw new StoreUnavailable('the reply was lost');
  }
}
