/** One process of redis-server, as a server or as a sentinel. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { atExit } from './at-exit.ts';
import { pollUntil } from './poll-until.ts';

export interface RedisProcess {
  readonly pid: number;
  /** Resolves with all that it said. */
  readonly exited: Promise<string>;
  /** True from the start to the end of the process, frozen or not. */
  isRunning(): boolean;
  signal(name: NodeJS.Signals): void;
}

const IS_READY = /ready to accept connections|Sentinel ID is/i;

/** Resolves once it takes connections; rejects with all that it said when it ends before. */
export async function startRedisProcess(
  program: string,
  args: readonly string[],
): Promise<RedisProcess> {
  const [command = '', ...before] = commandLine(program);
  const child = spawn(command, [...before, ...args], {
    env: { PATH: process.env.PATH ?? '', LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const callOff = atExit(() => void child.kill('SIGKILL'));
  const said: string[] = [];
  const ready = untilReady(child, said);
  const exited = untilExit(child, said);
  void exited.then(callOff, callOff);
  await Promise.race([ready, exited.then(failStart)]);
  return {
    pid: child.pid ?? 0,
    exited,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    signal: (name) => void child.kill(name),
  };
}

/** The kernel ends it with us, whatever ends us: of SIGKILL, and of `bun test`, no handler hears. */
function commandLine(program: string): string[] {
  const withUs = Bun.which('setpriv') === null ? [] : ['setpriv', '--pdeathsig', 'KILL', '--'];
  return [...withUs, program];
}

function untilReady(child: ChildProcess, said: string[]): Promise<void> {
  return new Promise((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      createInterface(stream).on('line', (line) => {
        said.push(line);
        if (IS_READY.test(line)) resolve();
      });
    }
  });
}

function untilExit(child: ChildProcess, said: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve(said.join('\n')));
  });
}

function failStart(output: string): never {
  throw new Error(`redis-server ended. It said:\n${output}`);
}

/** A signal only asks; this resolves when the process stands still. */
export function untilFrozen(pid: number): Promise<true> {
  return pollUntil(`process ${pid} stands still`, async () => {
    const state = /\) (\S)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1];
    return state === 'T' ? true : undefined;
  });
}
