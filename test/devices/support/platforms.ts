/** How each program of examples/devices is compiled and started, and what it can do. */
import { join } from 'node:path';
import { ANDROID_JSON, type Need, PYTHON } from '../../kit/needs.ts';
import { runChild } from '../../kit/process.ts';
import { serveUpstream } from '../../kit/provider.ts';
import { ROOT } from '../../kit/relay.ts';
import type { Offered } from '../../kit/untrusted-relay.ts';

/** A language whose programs can be run here. */
export interface Platform {
  readonly name: string;
  /** What runs it, or compiles it. Absent: packages. */
  readonly need?: Need;
  /** Compiles into this folder, once for all tests. */
  readonly compile?: (folder: string) => Promise<void>;
  /** Before the relay's URL and the service. */
  readonly command: (folder: string) => readonly string[];
  /** What the user does who has changed their mind. Enter: in an app, which decides when it ends. */
  readonly cancelsBy: 'Ctrl-C' | 'Ctrl-C, in an app' | 'Enter';
  /** Sign-ins in which it exchanges a code itself. */
  readonly exchanges?: readonly Offered[];
  readonly drawsQr?: true;
}

const SOURCES = join(ROOT, 'examples/devices');
const source = (path: string) => join(SOURCES, path);
const support = (path: string) => join(import.meta.dir, path);

export const SHELL_PROGRAM = source('shell/sign-in.sh');

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

const kotlinJars = (...names: string[]) =>
  names.map((name) => join(ROOT, `test/node_modules/kotlin-compiler/lib/${name}.jar`));
const KOTLIN_LIBRARIES = kotlinJars('kotlin-stdlib', 'kotlinx-coroutines-core-jvm');
const KOTLIN_COMPILER = kotlinJars(
  'kotlin-compiler',
  'kotlin-reflect',
  'kotlin-script-runtime',
  'kotlin-daemon-client',
  'annotations-13.0',
);
const JAVA = ['java', '-XX:TieredStopAtLevel=1', '-cp'];
/** What the program for Android is compiled and run with. */
const ANDROID = [...KOTLIN_LIBRARIES, ANDROID_JSON].join(':');

/** With a stand-in for OkHttp, whose releases no registry of the tests has. */
async function compileKotlin(folder: string): Promise<void> {
  await compile(
    [
      ...JAVA,
      [...KOTLIN_COMPILER, ...KOTLIN_LIBRARIES].join(':'),
      'org.jetbrains.kotlin.cli.jvm.K2JVMCompiler',
      ...['-Werror', '-no-stdlib', '-no-reflect', '-cp', ANDROID, '-d', 'android.jar'],
      source('android-tv'),
      ...['okhttp.kt', 'android.kt'].map(support),
    ],
    folder,
  );
  // What it loads, for the runs of the tests: they start in half the time.
  using relay = serveUpstream(() => new Response('', { status: 400 }));
  const run = ['java', '-XX:ArchiveClassesAtExit=android.jsa', ...runKotlin(folder), relay.origin];
  await runChild([...run, 'mal'], { cwd: folder });
}

const runKotlin = (folder: string) => [
  ...JAVA.slice(1),
  `${ANDROID}:${folder}/android.jar`,
  'example.relay.AndroidKt',
];

/** Runs a command as on a device with one user. */
const forOneUser = (...command: string[]) => [
  'sh',
  '-c',
  'umask 077 && exec "$@"',
  'sh',
  ...command,
];

export const PLATFORMS: readonly Platform[] = [
  {
    name: 'Python',
    need: 'Python',
    command: () => [PYTHON, '-B', source('python/app.py')],
    cancelsBy: 'Ctrl-C',
    exchanges: ['blind'],
    drawsQr: true,
  },
  {
    name: 'Kodi',
    need: 'Python',
    command: () => [PYTHON, '-B', support('kodi.py'), source('python')],
    cancelsBy: 'Enter',
    exchanges: ['blind'],
  },
  {
    name: 'MicroPython',
    need: 'MicroPython',
    command: () => forOneUser('micropython', source('micropython/sign_in.py')),
    cancelsBy: 'Enter',
    exchanges: ['blind', 'open'],
  },
  {
    name: 'KOReader',
    need: 'Lua',
    command: () => ['luajit', source('lua/sign_in.lua')],
    cancelsBy: 'Enter',
    exchanges: ['blind', 'open'],
  },
  {
    name: 'shell',
    need: 'curl and qrencode',
    command: () => ['sh', SHELL_PROGRAM],
    cancelsBy: 'Ctrl-C',
    drawsQr: true,
  },
  {
    name: 'Go',
    need: 'Go',
    compile: (folder) =>
      compile(
        ['go', 'build', '-o', 'sign-in-go', source('go/signin.go'), source('go/app.go')],
        folder,
      ),
    command: (folder) => [join(folder, 'sign-in-go')],
    cancelsBy: 'Ctrl-C',
    exchanges: ['blind'],
  },
  {
    name: 'Android TV',
    need: 'Java',
    compile: compileKotlin,
    command: (folder) =>
      forOneUser('java', `-XX:SharedArchiveFile=${folder}/android.jsa`, ...runKotlin(folder)),
    cancelsBy: 'Enter',
  },
  {
    name: 'Roku',
    command: () => [process.execPath, support('roku.ts')],
    cancelsBy: 'Ctrl-C, in an app',
  },
];
