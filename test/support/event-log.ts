/** JSON log lines as events that can be waited for. */

export interface LogEvent {
  readonly time: string;
  readonly level: string;
  readonly event: string;
  readonly [field: string]: unknown;
}

type Fits = (event: LogEvent) => boolean;

export interface EventLog {
  events(): readonly LogEvent[];
  take(line: string): void;
  /** No more will come: whoever still waits is told why. */
  end(reason: Error): void;
  /** The first event that fits, past or to come. */
  waitFor(fits: Fits): Promise<LogEvent>;
}

export function createEventLog(): EventLog {
  const events: LogEvent[] = [];
  const waiters = new Set<{
    fits: Fits;
    resolve: (event: LogEvent) => void;
    reject: (reason: Error) => void;
  }>();
  let endedBy: Error | undefined;

  return {
    events: () => events,
    take(line) {
      const event = parseEvent(line);
      if (event === undefined) return;
      events.push(event);
      for (const waiter of waiters) {
        if (!waiter.fits(event)) continue;
        waiters.delete(waiter);
        waiter.resolve(event);
      }
    },
    end(reason) {
      endedBy = reason;
      for (const { reject } of waiters) reject(reason);
      waiters.clear();
    },
    waitFor(fits) {
      const past = events.find(fits);
      if (past !== undefined) return Promise.resolve(past);
      if (endedBy !== undefined) return Promise.reject(endedBy);
      return new Promise((resolve, reject) => waiters.add({ fits, resolve, reject }));
    },
  };
}

/** Undefined for a line that is not of the log, such as what a preloaded file prints. */
function parseEvent(line: string): LogEvent | undefined {
  try {
    const parsed: unknown = JSON.parse(line);
    const isEvent = typeof parsed === 'object' && parsed !== null && 'event' in parsed;
    return isEvent ? (parsed as LogEvent) : undefined;
  } catch {
    return undefined;
  }
}
