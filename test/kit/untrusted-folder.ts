/**
 * A folder that a stranger filled, such as a clone of a repository: it has everything that a
 * runtime runs or obeys by default when it is started there.
 */
import { expect } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { newFolder } from './folder.ts';
import { type ChildOptions, runChild } from './process.ts';

/** What the stranger's code exits with. */
const STRANGER = 99;
const CODE = `console.log('code of a stranger'); process.exit(${STRANGER});\n`;

const VARIABLES = 'PORT=none\nNODE_TLS_REJECT_UNAUTHORIZED=0\nSIGN_IN_RELAY_URL=none\n';

const COMPILER = {
  baseUrl: '.',
  paths: { '*': ['./code.js'] },
  jsx: 'react-jsx',
  jsxImportSource: 'stranger',
};

const FILES: Readonly<Record<string, string>> = {
  'code.js': CODE,
  'bunfig.toml': 'preload = ["./code.js"]\n',
  'tsconfig.json': JSON.stringify({ compilerOptions: COMPILER }),
  'jsconfig.json': JSON.stringify({ compilerOptions: COMPILER }),
  'package.json': JSON.stringify({
    name: 'stranger',
    type: 'commonjs',
    main: 'code.js',
    scripts: { start: 'exit 99', dev: 'exit 99', login: 'exit 99', check: 'exit 99' },
  }),
  ...Object.fromEntries(
    ['.env', '.env.local', '.env.development', '.env.production'].map((file) => [file, VARIABLES]),
  ),
  ...Object.fromEntries(
    // The last two are loaded by the clients of Redis and Prometheus where they are there.
    [...Object.keys(packageJson.dependencies), '@opentelemetry/api', '@node-rs/xxhash'].flatMap(
      (name) => [
        [`node_modules/${name}/package.json`, JSON.stringify({ name, main: 'index.js' })],
        [`node_modules/${name}/index.js`, CODE],
      ],
    ),
  ),
};

/** Fills a folder as a stranger could. Default: a new one. */
export function makeUntrustedFolder(folder: string = newFolder()): string {
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

/** Runs the relay's commands there: nothing of the folder is run, and no variable of it is set. */
export async function expectUnaffected(
  command: readonly string[],
  { env, ...options }: ChildOptions,
): Promise<void> {
  const run = (args: readonly string[], NODE_ENV = '') =>
    runChild([...command, ...args], { ...options, env: { NODE_ENV, ...env } });
  expect(await run(['--version'])).toEqual({
    exitCode: 0,
    output: expect.stringContaining(packageJson.version),
  });
  expect(await run(['providers', 'mal'])).toEqual({
    exitCode: 0,
    output: expect.stringContaining('# MyAnimeList\n'),
  });
  for (const NODE_ENV of ['', 'production']) {
    // Its only fault is that it has no public address.
    expect(await run(['check'], NODE_ENV)).toEqual({
      exitCode: 1,
      output: expect.stringMatching(/^✓ settings: the relay can start\n(.*\n)*1 fault\b/m),
    });
  }
}
