/** The client for old televisions, in one script. Also in every build of the relay, for `dev`. */
import { fileURLToPath } from 'node:url';
import { transformSync } from '@swc/core';

const ENTRY = fileURLToPath(new URL('src/tv.ts', import.meta.url));

/** All modules in one, without their types, as ES5. */
export async function bundleForTv(): Promise<string> {
  const { outputs } = await Bun.build({ entrypoints: [ENTRY], target: 'browser' });
  const [output] = outputs;
  if (output === undefined) throw new Error('tv.ts: no output');
  return transformSync(`(function () {${await output.text()}})();`, {
    configFile: false,
    swcrc: false,
    isModule: false,
    minify: true,
    jsc: {
      target: 'es5',
      loose: true,
      minify: { compress: { passes: 3, ecma: 5 }, mangle: { toplevel: true } },
    },
  }).code;
}
