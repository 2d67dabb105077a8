/** Waiting for what sends no event, holding back what would come too early, and several things at the same time. */
import type { Child } from './process.ts';

/** Enough for a loaded machine. Reaching it fails the test with the name of what did not come. */
const TIMEOUT_MS = 25_000;
const PAUSE_MS = 20;

type Falsy = undefined | null | false | 0 | '';

/** Repeats the probe until it returns something truthy. For what sends no event. */
export async function pollUntil<Value>(
  what: string,
  probe: () => Promise<Value | Falsy> | Value | Falsy,
  timeoutMs = TIMEOUT_MS,
): Promise<Value> {
  const giveUpAtMs = performance.now() + timeoutMs;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (performance.now() > giveUpAtMs) throw new Error(`timed out: not seen that ${what}`);
    await Bun.sleep(PAUSE_MS);
  }
}

/** Resolves with the output of a program once that has the text; rejects if it ends without it. */
export function untilShown(program: Pick<Child, 'output' | 'isRunning'>, text: string | RegExp) {
  return pollUntil(`it shows ${text}`, () => {
    const output = program.output();
    const isShown = typeof text === 'string' ? output.includes(text) : text.test(output);
    if (!isShown && !program.isRunning()) throw new Error(`ended without ${text}:\n${output}`);
    return isShown && output;
  });
}

/** While it is closed, callers wait until the test releases them. */
export function createGate() {
  let closed: { readonly arrive: () => void; readonly opened: Promise<void> } | undefined;
  return {
    close() {
      const arrival = Promise.withResolvers<void>();
      const opening = Promise.withResolvers<void>();
      closed = { arrive: arrival.resolve, opened: opening.promise };
      const release = () => {
        closed = undefined;
        opening.resolve();
      };
      /** `arrived` resolves when the first caller arrives at the closed gate. */
      return { arrived: arrival.promise, release };
    },
    async pass() {
      closed?.arrive();
      await closed?.opened;
    },
  };
}

/**
 * What a promise is rejected with; undefined if it is fulfilled. Bun's own
 * `.rejects` blocks until the promise settles, beyond every timeout.
 */
export function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
}

/** Runs it for each item, at most `limit` at the same time. */
export async function eachLimit<Item>(
  limit: number,
  items: Iterable<Item>,
  run: (item: Item, nth: number) => Promise<void>,
): Promise<void> {
  // One iterator for all workers: each takes the next item that no other has taken.
  const queue = [...items].entries();
  const worker = async () => {
    for (const [nth, item] of queue) await run(item, nth);
  };
  await Promise.all(Array.from({ length: limit }, worker));
}
