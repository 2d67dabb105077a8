/**
 * `npm run build` writes dist/: the relay for Node as a program (dist/cli/) and as a module to
 * embed (dist/sign-in-relay.js), and the relay for Cloudflare Workers (dist/worker.js). With
 * `--executable=FILE` it writes a program that needs no runtime, for this machine.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { parseArgs } from 'node:util';

const ROOT = join(import.meta.dir, '..');

/** Targets of `bun build --compile`, without the `bun-` before each. */
export const EXECUTABLES = [
  'linux-x64',
  'linux-x64-baseline',
  'linux-arm64',
  'linux-x64-musl',
  'linux-x64-musl-baseline',
  'linux-arm64-musl',
];

/** `-changed` if files differ from the commit. Undefined outside a checkout, unless SIGN_IN_RELAY_COMMIT says it. */
export function findCommit(): string | undefined {
  const { SIGN_IN_RELAY_COMMIT: given } = process.env;
  if (given) return given;
  const git = (...args: string[]) => {
    const { success, stdout } = Bun.spawnSync(['git', ...args], { cwd: ROOT, stderr: 'ignore' });
    return success ? stdout.toString().trim() : undefined;
  };
  const commit = git('rev-parse', '--short=12', 'HEAD');
  return commit && git('status', '--porcelain', '--untracked-files=no')
    ? `${commit}-changed`
    : commit;
}

function definitions(): Record<string, string> {
  const commit = findCommit();
  return commit ? { BUILD_COMMIT: JSON.stringify(commit) } : {};
}

/** Definitions for a build with the command line: `dev` shows a television (src/cli/dev/tv.ts). */
async function commandDefinitions(): Promise<Record<string, string>> {
  const bundler = join(ROOT, 'client/tv-build.ts');
  // deploy/Dockerfile leaves it out: its compiler is none of the packages that a relay runs with.
  if (!existsSync(bundler)) return definitions();
  const { bundleForTv } = (await import(bundler)) as typeof import('../client/tv-build.ts');
  const page = readFileSync(join(ROOT, 'demo/tv.html'), 'utf8');
  const television = { page, client: await bundleForTv() };
  return { ...definitions(), BUILD_TELEVISION: JSON.stringify(television) };
}

async function buildPackage(): Promise<void> {
  const dist = join(ROOT, 'dist');
  const built = mkdtempSync(`${dist}-`);
  const common = { root: ROOT, target: 'node', define: definitions() } as const;
  try {
    // Splitting keeps the client of Redis out of a relay that does not use it.
    await Bun.build({
      ...common,
      define: await commandDefinitions(),
      entrypoints: [join(ROOT, 'src/cli/main.ts')],
      outdir: join(built, 'cli'),
      naming: '[name].[ext]',
      splitting: true,
      packages: 'external',
    });
    await Bun.build({
      ...common,
      entrypoints: [join(ROOT, 'src/embed.ts')],
      outdir: built,
      naming: 'sign-in-relay.[ext]',
    });
    await buildWorker(join(built, 'worker.js'));
    await writeTypes(join(built, 'types'));
    mkdirSync(join(dist, 'cli'), { recursive: true });
    replaceFiles(join(built, 'types'), join(dist, 'types'));
    replaceFiles(join(built, 'cli'), join(dist, 'cli'));
    for (const file of ['sign-in-relay.js', 'worker.js']) {
      renameSync(join(built, file), join(dist, file));
    }
  } finally {
    rmSync(built, { recursive: true });
  }
}

/** Writes the types of the module to embed. deploy/Dockerfile has no compiler, and needs none. */
async function writeTypes(folder: string): Promise<void> {
  mkdirSync(folder);
  const tsc = join(ROOT, 'node_modules/.bin/tsc');
  if (!existsSync(tsc)) return;
  const options = ['--declaration', '--emitDeclarationOnly', '--noEmit', 'false', '--rootDir'];
  const command = [process.execPath, tsc, '-p', ROOT, ...options, ROOT, '--outDir', folder];
  const { exitCode, stdout } = Bun.spawnSync(command);
  if (exitCode !== 0) throw new Error(String(stdout));
  const kept = new Set<string>();
  const keep = (file: string) => {
    if (kept.has(file)) return;
    kept.add(file);
    const text = readFileSync(join(folder, 'src', file), 'utf8');
    const named = text.replace(/(['"]\.[^'"]*)\.tsx?(['"])/g, (_, path, quote) => {
      keep(`${join(dirname(file), path.slice(1))}.d.ts`);
      return `${path}.js${quote}`;
    });
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), named);
  };
  keep('embed.d.ts');
  for (const file of listFiles(folder)) if (!kept.has(file)) rmSync(join(folder, file));
}

/**
 * Moves every file of `from` into `to`, and removes what else is in `to`. At no moment is a
 * file missing or half written that both have: a relay that starts while dist/ is built
 * again from the same source finds all its modules.
 */
export function replaceFiles(from: string, to: string): void {
  const files = listFiles(from);
  for (const file of files) {
    mkdirSync(dirname(join(to, file)), { recursive: true });
    renameSync(join(from, file), join(to, file));
  }
  for (const file of listFiles(to)) if (!files.includes(file)) rmSync(join(to, file));
}

function listFiles(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => !entry.isDirectory());
  return files.map(({ parentPath, name }) => relative(folder, join(parentPath, name)));
}

/** Bundles the relay for Cloudflare Workers. It imports only what the runtime has. */
export async function buildWorker(file: string, entry = 'src/workers/worker.ts'): Promise<void> {
  await Bun.build({
    root: ROOT,
    target: 'node',
    define: definitions(),
    entrypoints: [join(ROOT, entry)],
    outdir: dirname(file),
    naming: basename(file),
    external: ['cloudflare:workers'],
    conditions: ['workerd'],
  });
}

/** The default target is this machine. Bun fetches the runtime of another one from the npm registry. */
export async function buildExecutable(file: string, target?: string): Promise<void> {
  const defines = Object.entries(await commandDefinitions()).map(
    ([name, value]) => `--define=${name}=${value}`,
  );
  const command = [
    process.execPath,
    'build',
    'src/cli/main.ts',
    '--compile',
    ...(target ? [`--target=bun-${target}`] : []),
    // Takes no settings and no code from the folder in which the relay happens to be started.
    ...['dotenv', 'bunfig', 'tsconfig', 'package-json'].map(
      (file) => `--no-compile-autoload-${file}`,
    ),
    ...defines,
    `--outfile=${file}`,
  ];
  // Not spawnSync: the tests serve other programs meanwhile.
  const child = Bun.spawn(command, { cwd: ROOT, stdio: ['ignore', 'ignore', 'pipe'] });
  const errors = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`cannot build ${file}:\n${errors}`);
}

if (import.meta.main) {
  const { executable } = parseArgs({ options: { executable: { type: 'string' } } }).values;
  if (executable) await buildExecutable(executable);
  else await buildPackage();
}
