/** An app on a device: one of the programs of examples/devices, installed in a folder of its own. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Need } from '../../kit/needs.ts';
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
  /** What it wrote, without escape sequences. */
  output(): string;
  /** The device sets its clock: a day is lost. Where the time of day can be changed for one program. */
  setClock(): void;
  /** What the user does who has changed their mind: Ctrl-C, Enter, or Back. */
  cancel(): void;
  /** Kodi ends, and asks its add-ons to end. */
  quit(): void;
  /** The device sleeps, and wakes. */
  suspend(): void;
  resume(): void;
  /** By the system, which asks nobody. */
  kill(): void;
  /** `error` is the last line of the errors, empty if it ended well. */
  readonly ended: Promise<{ readonly exitCode: number; readonly error: string }>;
}

export interface App extends AsyncDisposable {
  run(relayUrl: string, service?: string, ...more: readonly string[]): Run;
  /** What it saved. */
  tokens(): Promise<Tokens | undefined>;
  /** Whether a file of that name is in its folder. */
  has(name: string): boolean;
  /** The permissions of the file with the tokens; undefined where there is no file. */
  mode(): number | undefined;
  /** As if the tokens had been saved a day from now. */
  setClockBack(): Promise<unknown>;
  /** Its file becomes one of another program. */
  replaceTokens(text: string): void;
  /** Another process is about to save, under the name that all programs once had in common. */
  saveElsewhere(): void;
  /** From now on nothing can be saved. Not before a link is shown. */
  fillStorage(): Promise<unknown>;
  /** The power failed while tokens were saved: the file is there, and empty. */
  truncate(): void;
}

/** A language whose programs can be run here. */
export interface Platform {
  readonly name: string;
  /** What runs it, or compiles it. Absent: packages. */
  readonly need?: Need;
  /** Compiles, once for all tests. */
  prepare(folder: string): Promise<void>;
  install(folder: string): Promise<App>;
}

/** Some twenty programs, each test's own, start at the same time, Java's virtual machines among them. */
const STARTING_MS = 60_000;

/** A folder is in the way also if root runs the test. */
const block = (path: string) => mkdirSync(join(path, 'in-the-way'), { recursive: true });

/** Instead of date(1), which asks the machine's clock. */
const DATE = `#!/bin/sh
now=$(/bin/date +%s)
[ ! -e clock-was-set ] || now=$((now + 86400))
echo "$now"
`;

export function installProgram(
  command: readonly string[],
  cancelsBy: 'SIGINT' | 'Enter' = 'SIGINT',
): App {
  const folder = mkdtempSync(join(tmpdir(), 'relay-device-'));
  const file = join(folder, 'tokens-mal.json');
  /** Where some programs write the file that they rename. */
  const written = `${file}.new`;
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin/date'), DATE, { mode: 0o755 });
  return {
    run: (relayUrl, service = 'mal', ...more) =>
      runProgram([...command, relayUrl, service, ...more], folder, cancelsBy),
    async tokens() {
      return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Tokens) : undefined;
    },
    has: (name) => existsSync(join(folder, name)),
    mode: () => statSync(file).mode & 0o777,
    async setClockBack() {
      const saved = JSON.parse(readFileSync(file, 'utf8')) as { expiresAt: number };
      const dayInItsUnit = saved.expiresAt > 1e11 ? 86_400_000 : 86_400;
      writeFileSync(file, JSON.stringify({ ...saved, expiresAt: saved.expiresAt + dayInItsUnit }));
    },
    replaceTokens: (text) => writeFileSync(file, text),
    saveElsewhere: () => block(written),
    async fillStorage() {
      for (const path of [file, written]) block(path);
    },
    truncate() {
      writeFileSync(file, '');
      writeFileSync(written, '{"accessToken":');
    },
    async [Symbol.asyncDispose]() {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function runProgram(command: readonly string[], cwd: string, cancelsBy: 'SIGINT' | 'Enter'): Run {
  const child = startChild(command, {
    cwd,
    hasInput: true,
    env: { HOME: cwd, PATH: `${join(cwd, 'bin')}:${process.env.PATH}` },
  });
  const links = () =>
    [...child.output().matchAll(/^Open \S+(\/L\/\S+)\r?\n/gm)].map(([, path]) => path);
  return {
    links: () => links().length,
    link: (nth = 1) => pollUntil(`link ${nth} is shown`, () => links()[nth - 1], STARTING_MS),
    output: () => stripVTControlCharacters(child.output()),
    setClock: () => writeFileSync(join(cwd, 'clock-was-set'), ''),
    quit: () => child.write('quit\n'),
    suspend: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    kill: () => child.kill('SIGKILL'),
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
