/** A relay in a process of its own, started as its operator starts it: `bun src/cli/main.ts` and an environment. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { endWithFile } from './cleanup.ts';
import { type ChildOptions, findFreePort, NODE, runChild, startChild } from './process.ts';
import { pollUntil } from './wait.ts';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const MAIN = `${ROOT}src/cli/main.ts`;
/** The command `sign-in-relay` of this checkout. */
export const LAUNCHER = `${ROOT}bin/sign-in-relay.cjs`;
/** Loaded into a relay before its own code; TEST_FAULT says what it does there. */
const FAULTS = `${ROOT}test/kit/faults.ts`;

/** Both programs that run the relay, and how. */
export const RUNTIMES = [
  ['Bun', [process.execPath, MAIN]],
  ['Node', [NODE, `${ROOT}dist/cli/main.js`]],
] as const;

type Env = Readonly<Record<string, string>>;

export interface LogEvent {
  readonly time: string;
  readonly level: string;
  readonly event: string;
  readonly [field: string]: unknown;
}

type Matches = (event: LogEvent) => boolean;

export type RelayProcess = Awaited<ReturnType<typeof launchRelay>>;

export interface StartOptions extends Pick<ChildOptions, 'cwd' | 'openFiles' | 'stdout'> {
  /** What goes wrong in this relay (faults.ts). */
  readonly fault?: string;
  readonly args?: readonly string[];
  /** What is run instead of `bun src/cli/main.ts`. */
  readonly command?: readonly string[];
  /** Where it listens. Not given: a free port. */
  readonly port?: number;
}

/** Resolves once the relay listens; rejects with its output if it ends before that. */
export async function startRelay(env: Env = {}, options: StartOptions = {}) {
  const relay = await launchRelay(env, options);
  await relay.waitForEvent('listening');
  return relay;
}

/** Starts a relay that may never listen. What `env` does not say is as in production, plus one provider and the debug log. */
export async function launchRelay(env: Env = {}, options: StartOptions = {}) {
  const port = options.port ?? (await findFreePort());
  const baseUrl = `http://127.0.0.1:${port}`;
  const log = createEventLog();
  const settings = {
    OAUTH_BASE_URL: baseUrl,
    HOST: '127.0.0.1',
    PORT: String(port),
    LOG_LEVEL: 'debug',
    MAL_CLIENT_ID: 'mal-client',
    ...env,
  };
  const [command, childOptions] = await childArguments(settings, options);
  const child = startChild(command, { ...childOptions, onLine: log.take });
  const end = () => log.end(new Error(`the relay ended. Its output:\n${child.output()}`));
  child.exited.then(end, end);
  const stop = (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal);
    return child.exited;
  };
  endWithFile(stop);
  return {
    baseUrl,
    port,
    pid: child.pid,
    output: child.output,
    stderr: child.stderr,
    streams: child.streams,
    /** Resolves with the exit code, which is 128 and more after a signal. */
    exited: child.exited,
    ask: (path: string, init?: RequestInit) =>
      fetch(new URL(path, baseUrl), { redirect: 'manual', ...init }),
    /** What was read of the log so far, which may lack lines that were written before the last response; of one event, if it is named. */
    events: log.named,
    /** The events of this name, once there are `count` of them. Rejects if the relay ends before. */
    waitForEvents: log.waitForMany,
    /** The first event that matches, past or to come. Rejects if the relay ends without it. */
    waitForEvent: (matches: string | Matches) =>
      log.waitFor(typeof matches === 'string' ? ({ event }) => event === matches : matches),
    /** Resolves once the relay has parked this many polls since its start. */
    untilParked: async (polls: number) => void (await log.waitForMany('poll_waiting', polls)),
    stop,
    [Symbol.asyncDispose]: async () => void (await stop()),
    /** The resident set, as the kernel counts it. */
    residentBytes() {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024;
    },
  };
}

/** Runs a relay that is expected to end by itself, in an environment that holds `env`. Its reports are text. */
export async function runRelay(env: Env = {}, options: StartOptions = {}) {
  return runChild(...(await childArguments({ LOG_FORMAT: 'text', ...env }, options)));
}

async function childArguments(env: Env, options: StartOptions) {
  const { fault, args = [], command, port: _, ...rest } = options;
  if (command?.[0] === NODE) await buildForNode();
  const preload = fault === undefined ? [] : ['--preload', FAULTS];
  // A fault plants the secret of its error message.
  const { RELAY_TEST_SECRETS = '' } = process.env;
  const extra = fault === undefined ? {} : { TEST_FAULT: fault, RELAY_TEST_SECRETS };
  return [
    command ?? [process.execPath, ...preload, MAIN, ...args],
    { ...rest, env: { ...extra, ...env }, logName: 'relay' },
  ] as const;
}

let built: ReturnType<typeof runChild> | undefined;

/** Builds what Node runs, unless `npm test` has just done so. */
export async function buildForNode(): Promise<void> {
  if (process.env.RELAY_TEST_BUILT) return;
  built ??= runChild([process.execPath, 'run', 'build'], { cwd: ROOT });
  const { exitCode, output } = await built;
  if (exitCode !== 0) throw new Error(`the build for Node failed:\n${output}`);
}

export async function untilHealthy(baseUrl: string): Promise<void> {
  await pollUntil(`${baseUrl} answers`, async () => {
    const response = await fetch(`${baseUrl}/health`).catch(() => undefined);
    return response?.ok;
  });
}

/** JSON log lines as events that can be waited for. */
export function createEventLog() {
  const events: LogEvent[] = [];
  const waiters = new Map<PromiseWithResolvers<LogEvent>, Matches>();
  let endedBy: Error | undefined;
  const named = (name?: string): readonly LogEvent[] =>
    events.filter(({ event }) => name === undefined || event === name);
  function waitFor(matches: Matches): Promise<LogEvent> {
    const past = events.find(matches);
    if (past !== undefined) return Promise.resolve(past);
    if (endedBy !== undefined) return Promise.reject(endedBy);
    const waiter = Promise.withResolvers<LogEvent>();
    waiters.set(waiter, matches);
    return waiter.promise;
  }
  return {
    events: events as readonly LogEvent[],
    named,
    waitFor,
    async waitForMany(name: string, count: number): Promise<readonly LogEvent[]> {
      let seen = 0;
      if (count > 0) await waitFor(({ event }) => event === name && ++seen === count);
      return named(name);
    },
    take(line: string): void {
      const event = parseEvent(line);
      if (event === undefined) return;
      events.push(event);
      for (const [waiter, matches] of waiters) {
        if (!matches(event)) continue;
        waiters.delete(waiter);
        waiter.resolve(event);
      }
    },
    end(reason: Error): void {
      endedBy = reason;
      for (const { reject } of waiters.keys()) reject(reason);
      waiters.clear();
    },
  };
}

/** Undefined for a line that is not of the log. */
function parseEvent(line: string): LogEvent | undefined {
  try {
    const parsed: unknown = JSON.parse(line);
    const isEvent = typeof parsed === 'object' && parsed !== null && 'event' in parsed;
    return isEvent ? (parsed as LogEvent) : undefined;
  } catch {
    return undefined;
  }
}
