/** The television of the dev relay: demo/tv.html, and the TV build of the client that it loads. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** Both, in a build: scripts/build.ts defines it, except in an image that is built from source. */
declare const BUILD_TELEVISION: { readonly page: string; readonly client: string } | undefined;

const built = typeof BUILD_TELEVISION === 'undefined' ? undefined : BUILD_TELEVISION;

/** Three folders above this source. */
const fileOf = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

let client: Promise<string> | undefined;

/** Undefined: this build has no television. A checkout reads it now, since it may have changed. */
export function readTvPage(): string | undefined {
  if (built !== undefined) return built.page;
  const file = fileOf('demo/tv.html');
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

/** A checkout builds it once. */
export async function readTvClient(): Promise<string> {
  if (built !== undefined) return built.client;
  client ??= build(fileOf('client/build.ts'));
  return client;
}

async function build(script: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-tv-'));
  try {
    // Bun obeys the bunfig.toml and tsconfig.json of the current folder.
    await promisify(execFile)(process.execPath, [script, folder], { cwd: fileOf('') });
    return readFileSync(join(folder, 'tv.js'), 'utf8');
  } finally {
    rmSync(folder, { recursive: true });
  }
}
