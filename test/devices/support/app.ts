/** An app on a device: one of the programs of examples/devices, installed in a folder of its own. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from '../../kit/process.ts';
import { pollUntil } from '../../kit/wait.ts';

export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken?: string;
  readonly expiresIn?: number;
}

export interface Run {
  /** The path of the nth link that it showed, from 1. */
  link(nth?: number): Promise<string>;
  /** How many links it has shown. */
  links(): number;
  /** What the user does who has changed their mind: Ctrl-C, Enter, or Back. */
  cancel(): void;
  /** The device sleeps, and wakes. Not in a browser. */
  suspend?(): void;
  resume?(): void;
  /** `error` is the last line of the errors, empty if it ended well. */
  readonly ended: Promise<{ readonly exitCode: number; readonly error: string }>;
}

export interface App extends AsyncDisposable {
  run(relayUrl: string, service?: string): Run;
  /** What it saved. */
  tokens(): Promise<Tokens | undefined>;
  /** The permissions of the file with the tokens; undefined where there is no file. */
  mode(): number | undefined;
  /** As if the tokens had been saved a day from now. Not in a browser. */
  setClockBack?(): void;
}

/** A language whose programs can be run here. */
export interface Platform {
  readonly name: string;
  /** Commands that it needs, and the Debian package that has each. */
  readonly needs: Readonly<Record<string, string>>;
  /** Compiles, once for all tests. */
  prepare(folder: string): Promise<void>;
  install(folder: string): Promise<App>;
}

export function installProgram(
  command: readonly string[],
  cancelsBy: 'SIGINT' | 'Enter' = 'SIGINT',
): App {
  const folder = mkdtempSync(join(tmpdir(), 'relay-device-'));
  const file = join(folder, 'tokens.json');
  return {
    run: (relayUrl, service = 'mal') =>
      runProgram([...command, relayUrl, service], folder, cancelsBy),
    async tokens() {
      return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Tokens) : undefined;
    },
    mode: () => statSync(file).mode & 0o777,
    setClockBack() {
      const saved = JSON.parse(readFileSync(file, 'utf8')) as { expiresAt: number };
      const dayInItsUnit = saved.expiresAt > 1e11 ? 86_400_000 : 86_400;
      writeFileSync(file, JSON.stringify({ ...saved, expiresAt: saved.expiresAt + dayInItsUnit }));
    },
    async [Symbol.asyncDispose]() {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function runProgram(command: readonly string[], cwd: string, cancelsBy: 'SIGINT' | 'Enter'): Run {
  const child = startChild(command, { cwd, hasInput: true, env: { HOME: cwd } });
  const links = () =>
    [...child.output().matchAll(/^Open \S+(\/L\/\S+)$/gm)].map(([, path]) => path);
  return {
    links: () => links().length,
    link: (nth = 1) => pollUntil(`link ${nth} is shown`, () => links()[nth - 1]),
    suspend: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    cancel() {
      if (cancelsBy === 'Enter') child.write('\n');
      else child.kill('SIGINT');
    },
    ended: child.exited.then((exitCode) => {
      const last =
        child
          .output()
          .trimEnd()
          .split(/[\r\n]/)
          .at(-1) ?? '';
      return { exitCode, error: exitCode === 0 ? '' : last };
    }),
  };
}
