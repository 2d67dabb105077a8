/** How each program of examples/devices is compiled and started. */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runChild } from '../../kit/process.ts';
import { ROOT } from '../../kit/relay.ts';
import { installProgram, type Platform } from './app.ts';
import { WEB_TV } from './web-tv.ts';

export const SOURCES = join(ROOT, 'examples/devices');
const sourcesOf = (language: string) =>
  readdirSync(join(SOURCES, language)).map((file) => join(SOURCES, language, file));

/** Where Debian's packages of crates are. */
const CRATES = '/usr/share/cargo/registry';

const JSON_JAR = '/usr/share/java/json-android.jar';
const GSON = '/usr/share/java/gson.jar';

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
    CARGO_PROFILE_DEV_DEBUG: '0',
  };
  const { exitCode, output } = await runChild(command, { cwd, env });
  if (exitCode !== 0) throw new Error(`${command.join(' ')}\n${output}`);
}

/** With the crates of Debian, and without TLS, whose crates take a minute to compile. */
async function compileRust(folder: string): Promise<void> {
  const project = join(folder, 'rust');
  cpSync(join(SOURCES, 'rust'), project, { recursive: true });
  const manifest = join(project, 'Cargo.toml');
  const withTls = readFileSync(manifest, 'utf8');
  const withoutTls = withTls.replace('features = ["json"]', '$&, default-features = false');
  if (withoutTls === withTls) throw new Error('Cargo.toml does not name the features of ureq');
  writeFileSync(manifest, withoutTls);
  const source = ['replace-with = "debian"', `[source.debian]`, `directory = "${CRATES}"`];
  mkdirSync(join(project, '.cargo'));
  writeFileSync(join(project, '.cargo/config.toml'), ['[source.crates-io]', ...source].join('\n'));
  await compile(['cargo', 'build', '--offline', '--quiet'], project);
}

const KOTLIN = join(ROOT, 'node_modules/kotlin-compiler/lib');
const kotlinJars = (...names: string[]) => names.map((name) => join(KOTLIN, `${name}.jar`));
/** What the program for Android is compiled and run with. */
const ANDROID = [...kotlinJars('kotlin-stdlib', 'kotlinx-coroutines-core-jvm'), JSON_JAR].join(':');

/** With a stand-in for OkHttp, whose releases no registry of the tests has. */
function compileKotlin(folder: string): Promise<void> {
  const compiler = kotlinJars(
    ...['kotlin-compiler', 'kotlin-stdlib', 'kotlinx-coroutines-core-jvm', 'kotlin-reflect'],
    ...['kotlin-script-runtime', 'kotlin-daemon-client', 'annotations-13.0'],
  );
  const standIns = ['okhttp.kt', 'android.kt'].map((name) => join(import.meta.dir, name));
  const command = ['java', '-XX:TieredStopAtLevel=1', '-cp', compiler.join(':')];
  const options = ['-Werror', '-no-stdlib', '-no-reflect', '-cp', ANDROID, '-d', 'android'];
  return compile(
    [
      ...[...command, 'org.jetbrains.kotlin.cli.jvm.K2JVMCompiler', ...options],
      ...[...sourcesOf('android-tv'), ...standIns],
    ],
    folder,
  );
}

export const ANDROID_TV: Platform = {
  name: 'Android TV',
  needs: { java: 'default-jdk-headless', [JSON_JAR]: 'libandroid-json-org-java' },
  prepare: compileKotlin,
  install: async (folder) =>
    installProgram(
      [
        // Android's own umask.
        ...['sh', '-c', 'umask 077 && exec java "$@"', 'sh', '-XX:TieredStopAtLevel=1'],
        ...['-cp', `${ANDROID}:${folder}/android`, 'example.relay.AndroidKt'],
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
  {
    name: 'Rust',
    needs: { rustc: 'rustc', cargo: 'cargo', [CRATES]: 'librust-ureq-dev' },
    prepare: compileRust,
    install: async (folder) => installProgram([join(folder, 'rust/target/debug/sign-in')], 'Enter'),
  },
  {
    name: 'Java',
    needs: {
      ...{ javac: 'default-jdk-headless', java: 'default-jdk-headless' },
      [GSON]: 'libgoogle-gson-java',
    },
    prepare: (folder) => compile(['javac', '-d', '.', '-cp', GSON, ...sourcesOf('java')], folder),
    install: async (folder) =>
      installProgram(['java', '-XX:TieredStopAtLevel=1', '-cp', `${GSON}:${folder}`, 'App']),
  },
  ANDROID_TV,
  {
    name: 'C#',
    needs: {
      mcs: 'mono-mcs',
      mono: 'mono-runtime',
      '/usr/lib/mono/4.5/System.Net.Http.dll': 'libmono-system-net-http4.0-cil',
      '/usr/lib/mono/4.5/System.Json.dll': 'libmono-system-json4.0-cil',
    },
    prepare: (folder) =>
      compile(
        [
          ...['mcs', '-out:SignIn.exe', '-r:System.Net.Http', '-r:System.Json'],
          ...sourcesOf('csharp'),
          join(import.meta.dirname, 'system-text-json.cs'),
        ],
        folder,
      ),
    install: async (folder) => installProgram(['mono', join(folder, 'SignIn.exe')], 'Enter'),
  },
  {
    name: 'Roku',
    needs: {},
    prepare: async () => {},
    install: async () => installProgram([process.execPath, join(import.meta.dir, 'roku.ts')]),
  },
  WEB_TV,
];
