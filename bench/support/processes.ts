/** Processes of the benchmark: each on its core, none outlives us. */
import { availableParallelism } from 'node:os';

/** Relays and the floor have a core to themselves; all else shares the other. */
export const MEASURED_CORE = 0;
const OTHER_CORE = availableParallelism() - 1;

export interface LaunchOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly measured?: boolean;
  readonly onMessage?: (message: unknown) => void;
}

export interface Launched {
  readonly pid: number;
  /** Rejects when it ended by itself. */
  readonly failed: Promise<never>;
  send(message: unknown): void;
  /** Asks it to end, and resolves when it has. */
  stop(): Promise<void>;
}

const KEPT_OUTPUT = 4_096;
const running = new Set<Bun.Subprocess>();

process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

export function launch(command: readonly string[], options: LaunchOptions = {}): Launched {
  const { env = {}, cwd, measured = false, onMessage } = options;
  const child = Bun.spawn([...wrapped(measured), ...command], {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    ...(cwd !== undefined && { cwd }),
    ...(onMessage !== undefined && { ipc: onMessage }),
  });
  running.add(child);
  const output = keepOutput(child);
  let isAsked = false;
  const failed = child.exited.then((code): Promise<never> => {
    running.delete(child);
    if (isAsked) return new Promise(() => {});
    throw new Error(`${command.join(' ')} ended with ${code}. It said:\n${output()}`);
  });
  // Whoever waits for the process races against it; nobody may be waiting.
  failed.catch(() => {});
  return {
    pid: child.pid,
    failed,
    send: (message) => child.send(message),
    async stop() {
      isAsked = true;
      child.kill('SIGTERM');
      await child.exited;
    },
  };
}

/** The kernel ends it with us, whatever ends us, where it can be told so; each core is one process's. */
function wrapped(measured: boolean): string[] {
  const core = String(measured ? MEASURED_CORE : OTHER_CORE);
  return [
    ...(Bun.which('setpriv') === null ? [] : ['setpriv', '--pdeathsig', 'KILL', '--']),
    ...(isPinned() ? ['taskset', '-c', core] : []),
  ];
}

export function isPinned(): boolean {
  return OTHER_CORE > 0 && Bun.which('taskset') !== null;
}

/** Read, as a supervisor reads it, and thrown away but for the end. */
function keepOutput(child: Bun.Subprocess<'ignore', 'pipe', 'pipe'>): () => string {
  let output = '';
  const decoder = new TextDecoder();
  async function read(stream: ReadableStream<Uint8Array>): Promise<void> {
    for await (const part of stream) output = (output + decoder.decode(part)).slice(-KEPT_OUTPUT);
  }
  void Promise.all([read(child.stdout), read(child.stderr)]).catch(() => {});
  return () => output;
}
