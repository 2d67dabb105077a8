/**
 * Makes dist/ of src/: `bun build.ts`, or `bun build.ts FOLDER` for another folder.
 * The modules keep their form, comments and source maps, for those who debug an app;
 * their bundler minifies them. No app bundles tv.js: it is one small script.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { replaceFiles } from '../scripts/build.ts';
import { bundleForTv } from './tv-build.ts';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const DIST = process.argv[2] ?? `${HERE}dist`;
/** A folder beside DIST, so that the source maps find src/ from there too. */
const BUILT = `${mkdtempSync(`${DIST}-`)}/`;

/** The modules and their types, each a file as it is in src/. */
function writeModules(folder: string, format: readonly string[]): void {
  const tsc = `${HERE}../node_modules/.bin/tsc`;
  const command = [process.execPath, tsc, '--project', HERE, '--outDir', folder, ...format];
  const { exitCode, stdout } = Bun.spawnSync(command);
  if (exitCode !== 0) throw new Error(String(stdout));
  rewrite(folder, /\.d\.ts$/, /(['"]\.\/[\w-]+)\.ts(['"])/g, '$1.js$2');
}

function rewrite(folder: string, names: RegExp, text: RegExp, by: string): void {
  for (const name of readdirSync(folder)) {
    if (!names.test(name)) continue;
    writeFileSync(folder + name, readFileSync(folder + name, 'utf8').replace(text, by));
  }
}

/** The TV build is a script: a module of the same name would be of no use. */
function remove(folder: string, names: RegExp): void {
  for (const name of readdirSync(folder)) if (names.test(name)) rmSync(folder + name);
}

try {
  writeModules(BUILT, []);
  remove(BUILT, /^tv\.js/);
  writeFileSync(`${BUILT}tv.js`, await bundleForTv());

  // For `require`, and for TypeScript in projects that compile to it.
  const format = ['--module', 'commonjs', '--verbatimModuleSyntax', 'false', '--noCheck'];
  writeModules(`${BUILT}cjs/`, format);
  // The one part of ESM that tsc leaves as it is.
  rewrite(`${BUILT}cjs/`, /\.js$/, /\bimport\.meta\.url\b/g, '__filename');
  remove(`${BUILT}cjs/`, /^tv\./);
  writeFileSync(`${BUILT}cjs/package.json`, '{"type":"commonjs"}\n');
  mkdirSync(DIST, { recursive: true });
  replaceFiles(BUILT, DIST);
} finally {
  rmSync(BUILT, { recursive: true });
}
