/** Makes dist/ of src/: `bun build.ts`, or `bun build.ts FOLDER` for another folder. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Options, transformSync } from '@swc/core';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const DIST = `${process.argv[2] ?? `${HERE}dist`}/`;

/** All modules in one, without their types. */
async function bundle(entry: string): Promise<string> {
  const { outputs } = await Bun.build({ entrypoints: [`${HERE}src/${entry}`], target: 'browser' });
  const [output] = outputs;
  if (output === undefined) throw new Error(`${entry}: no output`);
  return output.text();
}

function minify(code: string, target: 'es5' | 'es2022'): string {
  const compress = { passes: 3, ecma: target === 'es5' ? 5 : 2020 } as const;
  const options: Options = {
    configFile: false,
    swcrc: false,
    isModule: target !== 'es5',
    minify: true,
    jsc: { target, loose: true, minify: { compress, mangle: { toplevel: true } } },
  };
  return transformSync(code, options).code;
}

/** The types of each module, one file each beside index.js. */
function writeTypes(): void {
  const tsc = `${HERE}../node_modules/.bin/tsc`;
  const { exitCode, stdout } = Bun.spawnSync([tsc, '--project', HERE, '--outDir', DIST]);
  if (exitCode !== 0) throw new Error(String(stdout));
  for (const name of readdirSync(DIST)) {
    const types = readFileSync(DIST + name, 'utf8');
    writeFileSync(DIST + name, types.replace(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'"));
  }
}

rmSync(DIST, { recursive: true, force: true });
mkdirSync(DIST);
writeTypes();
writeFileSync(`${DIST}index.js`, minify(await bundle('index.ts'), 'es2022'));
writeFileSync(`${DIST}tv.js`, minify(`(function () {${await bundle('tv.ts')}})();`, 'es5'));
