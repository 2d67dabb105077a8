/** An app on a device: one of the programs of examples/devices, installed in a folder of its own. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { newFolder } from '../../kit/folder.ts';
import { startChild } from '../../kit/process.ts';
import { pollUntil } from '../../kit/wait.ts';
import type { Platform } from './platforms.ts';

export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken?: string;
  readonly expiresIn?: number;
}

export type App = ReturnType<typeof installProgram>;
export type Run = ReturnType<typeof runProgram>;

/** Some twenty programs, each test's own, start at the same time, Java's virtual machines among them. */
const STARTING_MS = 60_000;

/** A folder is in the way also if root runs the test. */
function block(path: string): void {
  rmSync(path, { force: true });
  mkdirSync(join(path, 'in-the-way'), { recursive: true });
}

/** Instead of date(1), which asks the machine's clock. */
const DATE = `#!/bin/sh
now=$(/bin/date +%s)
[ ! -e clock-was-set ] || now=$((now + 86400))
echo "$now"
`;

export function installProgram(
  command: readonly string[],
  cancelsBy: Platform['cancelsBy'] = 'Ctrl-C',
) {
  const folder = newFolder();
  const file = join(folder, 'tokens-mal.json');
  /** Where some programs write the file that they rename. */
  const written = `${file}.new`;
  /** Leaves the saved tokens this many seconds. Its times are in milliseconds or in seconds. */
  function leave(seconds: number) {
    const saved = JSON.parse(readFileSync(file, 'utf8')) as { expiresAt: number };
    const expiresAtMs = Date.now() + seconds * 1_000;
    const expiresAt = saved.expiresAt > 1e11 ? expiresAtMs : Math.floor(expiresAtMs / 1_000);
    writeFileSync(file, JSON.stringify({ ...saved, expiresAt }));
  }
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin/date'), DATE, { mode: 0o755 });
  return {
    run: (relayUrl: string, service = 'mal', ...more: readonly string[]) =>
      runProgram([...command, relayUrl, service, ...more], folder, cancelsBy),
    /** What it saved. */
    tokens: () =>
      existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Tokens) : undefined,
    /** Whether a file of that name is in its folder. */
    has: (name: string) => existsSync(join(folder, name)),
    /** The permissions of the file with the tokens. */
    mode: () => statSync(file).mode & 0o777,
    leave,
    /** Makes the saved tokens look expired. */
    makeDue: () => leave(-3_600),
    /** Files that it wrote and did not rename. */
    leftovers: () =>
      readdirSync(folder, { withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name.startsWith('tokens-mal.json.'))
        .map(({ name }) => name),
    /** Its file becomes one of another program. */
    replaceTokens: (text: string) => writeFileSync(file, text),
    /** Another process is about to save, under the name that all programs once had in common. */
    saveElsewhere: () => block(written),
    /** From now on nothing can be saved. */
    fillStorage() {
      for (const path of [file, written]) block(path);
    },
    /** From now on there is room again. */
    freeStorage() {
      for (const path of [file, written]) rmSync(path, { force: true, recursive: true });
    },
    /** The power failed while tokens were saved: the file is there, and empty. */
    truncate() {
      writeFileSync(file, '');
      writeFileSync(written, '{"accessToken":');
    },
  };
}

function runProgram(command: readonly string[], cwd: string, cancelsBy: Platform['cancelsBy']) {
  const child = startChild(command, {
    cwd,
    hasInput: true,
    env: { HOME: cwd, PATH: `${join(cwd, 'bin')}:${process.env.PATH}` },
  });
  const links = () =>
    [...child.output().matchAll(/^Open \S+(\/L\/\S+)\r?\n/gm)].map(([, path]) => path);
  return {
    /** The path of the nth link that it showed, from 1. */
    link: (nth = 1) => pollUntil(`link ${nth} is shown`, () => links()[nth - 1], STARTING_MS),
    /** How many links it has shown. */
    links: () => links().length,
    /** What it wrote, without escape sequences. */
    output: () => stripVTControlCharacters(child.output()),
    /** The device sets its clock: a day is lost. Where the time of day can be changed for one program. */
    setClock: () => writeFileSync(join(cwd, 'clock-was-set'), ''),
    /** Kodi ends, and asks its add-ons to end. */
    quit: () => child.write('quit\n'),
    /** The device sleeps, and wakes. */
    suspend: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    /** By the system, which asks nobody. */
    kill: () => child.kill('SIGKILL'),
    cancel() {
      if (cancelsBy === 'Enter') child.write('\n');
      else child.kill('SIGINT');
    },
    /** `error` is the last line of the errors, empty if it ended well. */
    ended: child.exited.then((exitCode) => {
      const lines = child
        .output()
        .trimEnd()
        .split(/[\r\n]/);
      return { exitCode, error: exitCode === 0 ? '' : (lines.at(-1) ?? '') };
    }),
  };
}
