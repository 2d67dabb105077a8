/** Scripts with a deadline of their own: a client that has written a command waits for its answer for ever. */
import {
  EXCHANGE_LEASE_MS,
  STORE_DEADLINE_MS,
  STORE_PATIENCE_MS,
  STORE_RETRY_MS,
} from '../limits.ts';
import { type Clock, pause } from '../relay/clock.ts';
import { createDeadlines } from '../relay/deadlines.ts';
import { StoreUnavailable } from '../relay/store.ts';
import {
  isAnswer,
  isRefusal,
  type RedisClient,
  reasonOf,
  type ScriptCall,
  type ScriptRunner,
} from './redis-client.ts';
import type { Refusals } from './redis-refusals.ts';
import type { Script } from './redis-script.ts';

export interface RedisCommands {
  /** Throws StoreUnavailable: offline, refused, or not answered in time; the last is 'unknown'. */
  run(
    script: Script,
    keys: string[],
    args: (string | number)[],
    runner?: ScriptRunner,
  ): Promise<unknown>;
  /** Any other wait for the store, under the same deadline. */
  within<T>(work: Promise<T>): Promise<T>;
  /**
   * For a while, once it is unknown whether an attempt was carried out; who
   * insists does so anyway, as long as a lease may last. What is repeated is
   * carried out once, and answered alike each time.
   */
  repeat<T>(options: { insist: boolean }, attempt: () => Promise<T>): Promise<T>;
}

export interface RedisCommandsOptions {
  readonly client: RedisClient;
  readonly clock: Clock;
  /** Called whenever there was no answer. */
  readonly onCut: () => void;
  readonly refusals: Refusals;
}

export function createRedisCommands(options: RedisCommandsOptions): RedisCommands {
  const { client, clock, onCut, refusals } = options;
  const deadlines = createDeadlines(clock, STORE_DEADLINE_MS);

  function within<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      function fail(error: StoreUnavailable): void {
        if (!isAnswer(error.cause)) onCut();
        reject(error);
      }
      const wait = deadlines.add(() => fail(new StoreUnavailable('not answered in time')));
      work
        .then(resolve, (error: unknown) => fail(unavailable(error)))
        .finally(() => deadlines.callOff(wait));
    });
  }

  async function repeat<T>({ insist }: { insist: boolean }, attempt: () => Promise<T>): Promise<T> {
    const untilMs = clock.now() + (insist ? EXCHANGE_LEASE_MS : STORE_PATIENCE_MS);
    for (let isOpen = insist; ; ) {
      try {
        return await attempt();
      } catch (error) {
        isOpen ||= isUnknown(error);
        if (!isOpen || !(error instanceof StoreUnavailable) || clock.now() > untilMs) throw error;
        await pause(clock, STORE_RETRY_MS);
      }
    }
  }

  async function evaluate(script: Script, call: ScriptCall, runner: ScriptRunner) {
    try {
      const reply = await evalShaOrText(script, call, runner);
      refusals.accepted(script);
      return reply;
    } catch (error) {
      if (isAnswer(error)) refusals.refused(script, reasonOf(error));
      throw error;
    }
  }

  return {
    within,
    repeat,
    run: (script, keys, args, runner = client) =>
      within(evaluate(script, { keys, arguments: args.map(String) }, runner)),
  };
}

async function evalShaOrText(script: Script, call: ScriptCall, runner: ScriptRunner) {
  try {
    return await runner.evalSha(script.sha1, call);
  } catch (error) {
    // A server that was restarted, or never saw it.
    if (isAnswer(error) && reasonOf(error) === 'NOSCRIPT') return runner.eval(script.text, call);
    throw error;
  }
}

/** It may have been carried out. */
function isUnknown(error: unknown): boolean {
  return error instanceof StoreUnavailable && !isRefusal(error.cause);
}

function unavailable(error: unknown): StoreUnavailable {
  if (error instanceof StoreUnavailable) return error;
  return new StoreUnavailable('refused or out of reach', { cause: error });
}
