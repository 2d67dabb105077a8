/** How each program of examples/devices is compiled and started. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { runChild } from '../../kit/process.ts';
import { ROOT } from '../../kit/relay.ts';
import { installProgram, type Platform } from './app.ts';

export const SOURCES = join(ROOT, 'examples/devices');
const sourcesOf = (language: string) =>
  readdirSync(join(SOURCES, language)).map((file) => join(SOURCES, language, file));

const JSON_JAR = '/usr/share/java/json-android.jar';

const inFolder = (folder: string, ...files: string[]) =>
  files.map((file) => join(SOURCES, folder, file));

/** Of the system: another Python that comes first in PATH may be too old. With -B it writes no byte code beside the programs. */
const PYTHON = '/usr/bin/python3';

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
const ANDROID = [...kotlinJars('kotlin-stdlib', 'kotlinx-coroutines-core-jvm'), JSON_JAR].join(':');

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
  needs: { java: 'default-jre-headless', [JSON_JAR]: 'libandroid-json-org-java' },
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
    needs: {
      [PYTHON]: 'python3',
      '/usr/lib/python3/dist-packages/qrcode/main.py': 'python3-qrcode',
    },
    prepare: async () => {},
    install: async () => installProgram([PYTHON, '-B', join(SOURCES, 'python/app.py')]),
  },
  {
    name: 'Kodi',
    needs: { [PYTHON]: 'python3' },
    prepare: async () => {},
    install: async () =>
      installProgram(
        [PYTHON, '-B', join(import.meta.dir, 'kodi.py'), join(SOURCES, 'python')],
        'Enter',
      ),
  },
  // Their devices have one user.
  ...[
    ['MicroPython', 'micropython', 'micropython/sign_in.py'],
    ['KOReader', 'luajit', 'lua/sign_in.lua'],
  ].map(([name = '', command = '', program = '']) => ({
    name,
    needs: { [command]: command },
    prepare: async () => {},
    install: async () =>
      installProgram(
        ['sh', '-c', 'umask 077 && exec "$@"', 'sh', command, join(SOURCES, program)],
        'Enter',
      ),
  })),
  {
    name: 'shell',
    needs: { sh: 'dash', curl: 'curl', qrencode: 'qrencode' },
    prepare: async () => {},
    install: async () => installProgram(['sh', join(SOURCES, 'shell/sign-in.sh')]),
  },
  {
    name: 'Go',
    needs: { go: 'golang-go' },
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
    needs: {},
    prepare: async () => {},
    install: async () => installProgram([process.execPath, join(import.meta.dir, 'roku.ts')]),
  },
];
