/** How each program of examples/devices is compiled and started. */
import { join } from 'node:path';
import { runChild } from '../../kit/process.ts';
import { ROOT } from '../../kit/relay.ts';
import { installProgram, type Platform } from './app.ts';
import { WEB_TV } from './web-tv.ts';

const SOURCES = join(ROOT, 'examples/devices');

const inFolder = (folder: string, ...files: string[]) =>
  files.map((file) => join(SOURCES, folder, file));

/** Of the system: another Python that comes first in PATH may be too old. With -B it writes no byte code beside the programs. */
const PYTHON = '/usr/bin/python3';

async function compile(command: readonly string[], cwd: string): Promise<void> {
  // HOME, because compilers look there for themselves and for what they keep.
  const env = { HOME: process.env.HOME ?? cwd, GOCACHE: join(cwd, 'go-cache'), GO111MODULE: 'off' };
  const { exitCode, output } = await runChild(command, { cwd, env });
  if (exitCode !== 0) throw new Error(`${command.join(' ')}\n${output}`);
}

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
    needs: { rustc: 'rustc', curl: 'curl' },
    prepare: (folder) =>
      compile(['rustc', '-o', 'sign-in-rust', join(SOURCES, 'rust/sign_in.rs')], folder),
    install: async (folder) => installProgram([join(folder, 'sign-in-rust')], 'Enter'),
  },
  {
    name: 'Java',
    needs: { javac: 'default-jdk-headless', java: 'default-jdk-headless' },
    prepare: (folder) => compile(['javac', '-d', '.', join(SOURCES, 'java/SignIn.java')], folder),
    install: async (folder) =>
      installProgram(['java', '-XX:TieredStopAtLevel=1', '-cp', folder, 'SignIn']),
  },
  {
    name: 'C#',
    needs: {
      mcs: 'mono-mcs',
      mono: 'mono-runtime',
      '/usr/lib/mono/4.5/System.Net.Http.dll': 'libmono-system-net-http4.0-cil',
      '/usr/lib/mono/4.5/System.Runtime.Serialization.dll':
        'libmono-system-runtime-serialization4.0-cil',
    },
    prepare: (folder) =>
      compile(
        [
          ...['mcs', '-out:SignIn.exe', '-r:System.Net.Http', '-r:System.Runtime.Serialization'],
          join(SOURCES, 'csharp/SignIn.cs'),
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
