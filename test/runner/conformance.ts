/** The conformance suite against a relay that runs as a user runs it. */
import { closeSync, openSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createFindProblems, type Seen } from '../support/answers-seen.ts';
import { findFreePort } from '../support/free-port.ts';
import { countStep, runCommand, type StepResult } from './step.ts';
import { startTakingTurns } from './taking-turns.ts';

const ROOT = join(import.meta.dir, '../..');

export interface Target {
  readonly name: string;
  /** What starts the relay; the suite says in which environment. */
  readonly command: string[];
  /** Options of the suite beyond where the target is. */
  readonly options: string[];
  /** Two relays on one Redis, taking turns; otherwise one on its own. */
  readonly takingTurns?: boolean;
}

export interface Running {
  stop(): Promise<void>;
}

/** Resolves when the relay answers. */
export type StartRelay = (env: Readonly<Record<string, string>>) => Promise<Running>;

interface Folders {
  readonly logs: string;
  readonly secrets: string;
}

export async function conformanceStep(target: Target, folders: Folders): Promise<StepResult> {
  const [port, unconfiguredPort, providerPort] = [
    await findFreePort(),
    await findFreePort(),
    await findFreePort(),
  ];
  const baseUrl = `http://127.0.0.1:${port}`;
  const unconfiguredUrl = `http://127.0.0.1:${unconfiguredPort}`;
  const suite = [
    ...[process.execPath, 'conformance/run.ts', '--base-url', baseUrl],
    ...['--provider-listen', `127.0.0.1:${providerPort}`, '--unconfigured-url', unconfiguredUrl],
    ...target.options,
  ];
  const asked = await runCommand([...suite, '--print-env']);
  const env = parseEnv(asked.output);
  const startRelay: StartRelay = (relayEnv) => startTarget(target, folders, relayEnv);
  const configured = { ...env, OAUTH_BASE_URL: baseUrl, PORT: String(port) };
  const running: Running[] = [];
  try {
    running.push(
      await (target.takingTurns
        ? startTakingTurns(startRelay, configured)
        : startRelay(configured)),
      await startRelay({ ...env, OAUTH_BASE_URL: '', PORT: String(unconfiguredPort) }),
    );
    // Beside the secrets, because answers hold some; the folder goes with the run.
    const answers = join(dirname(folders.secrets), `answers-${port}.jsonl`);
    const files = ['--secrets-file', folders.secrets, '--answers-file', answers];
    const result = await runCommand([...suite, ...files]);
    const document = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as object;
    const step = countStep(`conformance, ${target.name}`, result);
    return withProblems(step, findProblemsOf(readFileSync(answers, 'utf8'), document));
  } finally {
    await Promise.all(running.map((relay) => relay.stop()));
  }
}

/** What the API document of the same relay does not have, each once. */
function findProblemsOf(answers: string, document: object): string[] {
  const findProblems = createFindProblems({ ...document });
  const lines = answers.split('\n').filter(Boolean);
  // A check of nothing finds nothing.
  if (lines.length === 0) return ['no answer was recorded'];
  const problems = lines.flatMap((line) => {
    const seen = JSON.parse(line) as Seen;
    const { method, path, status } = seen;
    return findProblems(seen).map((problem) => `${method} ${path} ${status}: ${problem}`);
  });
  return [...new Set(problems)];
}

function withProblems(step: StepResult, problems: readonly string[]): StepResult {
  const lines = problems.map((problem) => `not in the API document: ${problem}`);
  const output = [step.output, ...lines].join('\n');
  return { ...step, failed: step.failed + problems.length, output };
}

async function startTarget(
  target: Target,
  folders: Folders,
  env: Readonly<Record<string, string>>,
): Promise<Running> {
  const log = openSync(join(folders.logs, `conformance-${target.name}-${env.PORT}.txt`), 'w');
  const relay = Bun.spawn(target.command, {
    cwd: ROOT,
    env: { PATH: process.env.PATH ?? '', HOST: '127.0.0.1', LOG_LEVEL: 'debug', ...env },
    stdin: 'ignore',
    stdout: log,
    stderr: log,
  });
  closeSync(log);
  async function stop(): Promise<void> {
    relay.kill();
    await relay.exited;
  }
  try {
    await waitUntilHealthy(`http://127.0.0.1:${env.PORT}`);
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop };
}

/** Asks until the relay answers; a relay that never does ends the attempt. */
async function waitUntilHealthy(baseUrl: string): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    const response = await fetch(`${baseUrl}/health`).catch(() => undefined);
    if (response?.ok) return;
    await Bun.sleep(100);
  }
  throw new Error(`nobody answers at ${baseUrl}`);
}

function parseEnv(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => /^[A-Z_]+=/.test(line));
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
}
