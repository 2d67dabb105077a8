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
import { isAnswer, isRefusal, type RedisClient, type ScriptRunner } from './redis-client.ts';
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
}

export function createRedisCommands({ client, clock, onCut }: RedisCommandsOptions): RedisCommands {
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

  return {
    within,
    repeat,
    run(script, keys, args, runner = client) {
      const call = { keys, arguments: args.map(String) };
      return within(
        runner.evalSha(script.sha1, call).catch((error: unknown) => {
          // A server that was restarted, or never saw it.
          if (isReply(error, 'NOSCRIPT')) return runner.eval(script.text, call);
          throw error;
        }),
      );
    },
  };
}

/** It may have been carried out. */
function isUnknown(error: unknown): boolean {
  return error instanceof StoreUnavailable && !isRefusal(error.cause);
}

/** The server is full and takes nothing new. Nothing was changed. */
export function isOutOfMemory(error: unknown): boolean {
  return error instanceof StoreUnavailable && isReply(error.cause, 'OOM');
}

function unavailable(error: unknown): StoreUnavailable {
  if (error instanceof StoreUnavailable) return error;
  return new StoreUnavailable('refused or out of reach', { cause: error });
}

function isReply(error: unknown, code: string): boolean {
  return error instanceof Error && error.message.startsWith(code);
}
