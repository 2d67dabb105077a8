/** Holds things back until the test lets them go: what a sleep would only hope for. */

export interface Held {
  /** Resolves when the first one has arrived at the closed gate. */
  readonly arrived: Promise<void>;
  release(): void;
}

export interface Gate {
  close(): Held;
  /** Resolves at once while the gate is open. */
  pass(): Promise<void>;
}

export function createGate(): Gate {
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
      return { arrived: arrival.promise, release };
    },
    async pass() {
      closed?.arrive();
      await closed?.opened;
    },
  };
}
