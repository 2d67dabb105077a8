/** Signals that end the waiting for a promise. */

/** An `AbortSignal`, of whichever runtime. */
export interface CancelSignal {
  readonly aborted: boolean;
  readonly reason?: unknown;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

export interface Cancellable {
  /** Ends the waiting: the promise rejects with the signal's reason, as that of `fetch` does. */
  readonly signal?: CancelSignal | undefined;
}

/** Waits for `run`. An aborted signal ends the wait, and calls `leave`. */
export function unlessAborted<Value>(
  signal: CancelSignal | undefined,
  run: () => Promise<Value>,
  leave: () => void = () => {},
): Promise<Value> {
  if (!signal) return run();
  return new Promise((resolve, reject) => {
    // React Native's signals have no reason.
    const end = () => reject(signal.reason ?? new Error('aborted'));
    if (signal.aborted) return end();
    const abort = () => {
      end();
      leave();
    };
    signal.addEventListener('abort', abort);
    const free = () => signal.removeEventListener('abort', abort);
    void run().then(resolve, reject).then(free);
  });
}
