/** The relay as an operator starts it: a process of its own, set up by its environment alone. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

export interface RunningRelay {
  /** Rejects when the relay ends by itself. Never resolves. */
  readonly failure: Promise<never>;
  stop(): Promise<void>;
}

/** Resolves once the relay says that it listens. */
export async function startRelay(environment: Record<string, string>): Promise<RunningRelay> {
  const child = spawn(process.execPath, [MAIN], {
    env: { PATH: process.env.PATH ?? '', LOG_FORMAT: 'json', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const killChild = () => void child.kill('SIGKILL');
  process.once('exit', killChild);

  const failure = new Promise<never>((_, reject) => {
    let lastWords = '';
    child.stderr.on('data', (part) => {
      lastWords = `${lastWords}${part}`.slice(-1_000);
    });
    child.once('error', reject);
    child.once('close', (code, signal) => {
      process.off('exit', killChild);
      reject(new Error(`The relay ended (${signal ?? `exit code ${code}`}). ${lastWords}`.trim()));
    });
  });
  // Whoever waits for it hears of it; after a stop nobody does.
  failure.catch(() => undefined);

  await Promise.race([untilListening(child), failure]);
  return { failure, stop: () => stop(child) };
}

function untilListening(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.stdout === null) return;
    // Read to the end, or the relay would some day wait for room in the pipe.
    createInterface(child.stdout).on('line', (line) => {
      if (line.includes('"event":"listening"')) resolve();
    });
  });
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGTERM');
  await closed;
}
