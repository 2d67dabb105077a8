/** The television of the dev relay: demo/tv.html, and the TV build of the client that it loads. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** The package's root: two folders above what is built (dist/cli), three above this source. */
const isSource = import.meta.url.endsWith('/src/cli/dev/tv.ts');
const root = new URL(isSource ? '../../../' : '../../', import.meta.url);
const fileOf = (path: string) => fileURLToPath(new URL(path, root));

export const readTvPage = () => readFileSync(fileOf('demo/tv.html'), 'utf8');

let client: Promise<string> | undefined;

/** The package contains the build. A checkout is built now, since its sources may have changed. */
export async function readTvClient(): Promise<string> {
  const script = fileOf('client/build.ts');
  if (!existsSync(script)) return readFileSync(fileOf('client/dist/tv.js'), 'utf8');
  client ??= build(script);
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
