/** The television of the dev relay: demo/tv.html, and the TV build of the client that it loads. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** The page and the client that scripts/build.ts puts into a build, except into an image that is built from source. */
declare const BUILD_TELEVISION: { readonly page: string; readonly client: string } | undefined;

const built = typeof BUILD_TELEVISION === 'undefined' ? undefined : BUILD_TELEVISION;

/** Three folders above this source. */
const rootFile = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

/** Undefined if this build has no television. A checkout reads the file each time, because it may have changed. */
export function readTvPage(): string | undefined {
  if (built !== undefined) return built.page;
  const file = rootFile('demo/tv.html');
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

/** A checkout bundles it each time too, not as ES5: the compiler for old televisions is installed only for building packages. */
export async function readTvClient(): Promise<string> {
  if (built !== undefined) return built.client;
  const command = ['build', 'client/src/tv.ts', '--target=browser', '--format=iife'];
  // Bun obeys the bunfig.toml and tsconfig.json of the current folder.
  const { stdout } = await promisify(execFile)(process.execPath, command, { cwd: rootFile('') });
  return stdout;
}
