/** A relay in a process of its own, started as its operator starts it: `bun src/main.ts` and an environment. */
import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createEventLog, type LogEvent } from './event-log.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

export interface LaunchedRelay {
  readonly pid: number;
  /** The log so far. */
  events(): readonly LogEvent[];
  /** The first event that fits, past or to come. Rejects when the relay ends without it. */
  waitForEvent(fits: (event: LogEvent) => boolean): Promise<LogEvent>;
  /** Resolves with the exit code, which is 128 and more when a signal ended it. */
  stop(signal?: NodeJS.Signals): Promise<number>;
  readonly exited: Promise<number>;
  /** Resident set, as the kernel counts it. */
  residentBytes(): number;
}

export interface RelayProcess extends LaunchedRelay {
  /** As the relay says it at the start, so without trailing slashes. */
  readonly baseUrl: string;
  /** Where it listens, whatever its public address is. */
  readonly port: number;
}

export interface StartOptions {
  /** A file that is loaded before the relay, in its process. */
  readonly preload?: string;
  readonly args?: readonly string[];
  /** Where it is started from; not said: where the tests are. */
  readonly cwd?: string;
  /** What is run in place of `bun src/main.ts`: a host of its own. */
  readonly command?: readonly [string, ...string[]];
  /** How many files and sockets it may have open. */
  readonly openFiles?: number;
}

/** Resolves once the relay listens; rejects with all that it said when it ends before. */
export async function startRelay(
  env: Readonly<Record<string, string>>,
  options: StartOptions = {},
): Promise<RelayProcess> {
  const launched = launchRelay(env, options);
  const listening = await launched.waitForEvent(({ event }) => event === 'listening');
  return {
    ...launched,
    baseUrl: String(listening.baseUrl ?? ''),
    port: Number(new URL(String(listening.url)).port),
  };
}

/** Returns at once: the relay may never listen. */
export function launchRelay(
  env: Readonly<Record<string, string>>,
  options: StartOptions = {},
): LaunchedRelay {
  const [program, ...args] = commandOf(options);
  const child = spawn(program, args, {
    env: { ...passedOn(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(options.cwd !== undefined && { cwd: options.cwd }),
  });
  killWithUs(child);
  const output = collectOutput(child);
  const log = createEventLog();
  createInterface(child.stdout).on('line', log.take);
  const exited = untilExit(child);
  // Not before all output is read: what it said last says why it ended.
  child.once('close', () => log.end(new Error(`the relay ended. It said:\n${output()}`)));

  return {
    pid: child.pid ?? 0,
    events: log.events,
    waitForEvent: log.waitFor,
    exited,
    stop(signal = 'SIGTERM') {
      child.kill(signal);
      return exited;
    },
    residentBytes: () => readResidentBytes(child.pid ?? 0),
  };
}

function commandOf({
  preload,
  args = [],
  command,
  openFiles,
}: StartOptions): [string, ...string[]] {
  const preloading = preload === undefined ? [] : ['--preload', preload];
  const [program, ...rest] = command ?? [process.execPath, ...preloading, MAIN, ...args];
  if (openFiles === undefined) return [program, ...rest];
  // `exec`, so that a signal to the child is one to the relay.
  return ['/bin/sh', '-c', `ulimit -n ${openFiles}; exec "$@"`, 'sh', program, ...rest];
}

/** Nothing of ours reaches the relay, but what its preloaded part needs to plant a secret. */
function passedOn(): Record<string, string> {
  const { PATH = '', RELAY_TEST_SECRETS } = process.env;
  return { PATH, ...(RELAY_TEST_SECRETS !== undefined && { RELAY_TEST_SECRETS }) };
}

function killWithUs(child: ChildProcess): void {
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('close', () => process.off('exit', kill));
}

let started = 0;

/** Keeps all that the relay writes, and writes it to a file of its own for the runner to search. */
function collectOutput(child: ChildProcess): () => string {
  started += 1;
  const folder = process.env.RELAY_TEST_LOGS;
  const file = folder && `${folder}/relay-${process.pid}-${started}-${child.pid}.log`;
  let output = '';
  function take(part: Buffer): void {
    output += part.toString('utf8');
    if (file) appendFileSync(file, part);
  }
  child.stdout?.on('data', take);
  child.stderr?.on('data', take);
  return () => output;
}

function untilExit(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? 128 + signalNumber(signal)));
  });
}

function signalNumber(signal: NodeJS.Signals | null): number {
  return signal === null ? 0 : (constants.signals[signal] ?? 0);
}

function readResidentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  if (kilobytes === undefined) throw new Error(`process ${pid} has no resident set: has it ended?`);
  return Number(kilobytes) * 1_024;
}
