/** How each program of examples/devices is compiled and started. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ANDROID_JSON, PYTHON } from '../../kit/needs.ts';
import { runChild } from '../../kit/process.ts';
import { ROOT } from '../../kit/relay.ts';
import { installProgram, type Platform } from './app.ts';

export const SOURCES = join(ROOT, 'examples/devices');
const sourcesOf = (language: string) =>
  readdirSync(join(SOURCES, language)).map((file) => join(SOURCES, language, file));

const inFolder = (folder: string, ...files: string[]) =>
  files.map((file) => join(SOURCES, folder, file));

async function compile(command: readonly string[], cwd: string): Promise<void> {
  // HOME, because compilers look there for themselves and for what they keep.
  const env = {
    HOME: process.env.HOME ?? cwd,
    GOCACHE: join(cwd, 'go-cache'),
    GO111MODULE: 'off',
  };
  const { exitCode, output } = await runChild(command, { cwd, env });
  if (exitCode !== 0) throw new Error(`${command.join(' ')}\n${output}`);
}

const KOTLIN = join(ROOT, 'test/node_modules/kotlin-compiler/lib');
const kotlinJars = (...names: string[]) => names.map((name) => join(KOTLIN, `${name}.jar`));
/** What the program for Android is compiled and run with. */
const ANDROID = [...kotlinJars('kotlin-stdlib', 'kotlinx-coroutines-core-jvm'), ANDROID_JSON].join(
  ':',
);

/** With a stand-in for OkHttp, whose releases no registry of the tests has. */
function compileKotlin(folder: string): Promise<void> {
  const compiler = kotlinJars(
    ...['kotlin-compiler', 'kotlin-stdlib', 'kotlinx-coroutines-core-jvm', 'kotlin-reflect'],
    'kotlin-script-runtime',
    'kotlin-daemon-client',
    'annotations-13.0',
  );
  const standIns = ['okhttp.kt', 'android.kt'].map((name) => join(import.meta.dir, name));
  const command = ['java', '-XX:TieredStopAtLevel=1', '-cp', compiler.join(':')];
  const options = ['-Werror', '-no-stdlib', '-no-reflect', '-cp', ANDROID, '-d', 'android'];
  return compile(
    [
      ...command,
      'org.jetbrains.kotlin.cli.jvm.K2JVMCompiler',
      ...options,
      ...sourcesOf('android-tv'),
      ...standIns,
    ],
    folder,
  );
}

export const ANDROID_TV: Platform = {
  name: 'Android TV',
  need: 'Java',
  prepare: compileKotlin,
  install: async (folder) =>
    installProgram(
      [
        // Android's own umask.
        ...['sh', '-c', 'umask 077 && exec java "$@"', 'sh', '-XX:TieredStopAtLevel=1'],
        '-cp',
        `${ANDROID}:${folder}/android`,
        'example.relay.AndroidKt',
      ],
      'Enter',
    ),
};

export const PLATFORMS: readonly Platform[] = [
  {
    name: 'Python',
    need: 'Python',
    prepare: async () => {},
    install: async () => installProgram([PYTHON, '-B', join(SOURCES, 'python/app.py')]),
  },
  {
    name: 'Kodi',
    need: 'Python',
    prepare: async () => {},
    install: async () =>
      installProgram(
        [PYTHON, '-B', join(import.meta.dir, 'kodi.py'), join(SOURCES, 'python')],
        'Enter',
      ),
  },
  // Their devices have one user.
  ...(
    [
      ['MicroPython', 'MicroPython', 'micropython', 'micropython/sign_in.py'],
      ['KOReader', 'Lua', 'luajit', 'lua/sign_in.lua'],
    ] as const
  ).map(([name, need, command, program]) => ({
    name,
    need,
    prepare: async () => {},
    install: async () =>
      installProgram(
        ['sh', '-c', 'umask 077 && exec "$@"', 'sh', command, join(SOURCES, program)],
        'Enter',
      ),
  })),
  {
    name: 'shell',
    need: 'curl and qrencode',
    prepare: async () => {},
    install: async () => installProgram(['sh', join(SOURCES, 'shell/sign-in.sh')]),
  },
  {
    name: 'Go',
    need: 'Go',
    prepare: (folder) =>
      compile(
        ['go', 'build', '-o', 'sign-in-go', ...inFolder('go', 'signin.go', 'app.go')],
        folder,
      ),
    install: async (folder) => installProgram([join(folder, 'sign-in-go')]),
  },
  ANDROID_TV,
  {
    name: 'Roku',
    prepare: async () => {},
    install: async () => installProgram([process.execPath, join(import.meta.dir, 'roku.ts')]),
  },
];
