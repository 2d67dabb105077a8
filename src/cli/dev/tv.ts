/** The television of the dev relay: demo/tv.html, and the TV build of the client that it loads. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** Of the package: what is built is in dist/cli, one folder higher than this source. */
const isSource = import.meta.url.endsWith('/src/cli/dev/tv.ts');
const root = new URL(isSource ? '../../../' : '../../', import.meta.url);
const fileOf = (path: string) => fileURLToPath(new URL(path, root));

export const readTvPage = () => readFileSync(fileOf('demo/tv.html'), 'utf8');

let client: Promise<string> | undefined;

/** The package has the build. A checkout has its sources, which may have changed since the last build. */
export async function readTvClient(): Promise<string> {
  const script = fileOf('client/build.ts');
  if (!existsSync(script)) return readFileSync(fileOf('client/dist/tv.js'), 'utf8');
  client ??= build(script);
  return client;
}

async function build(script: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-tv-'));
  try {
    // In the checkout: Bun runs what the bunfig.toml or tsconfig.json of the current folder names.
    await promisify(execFile)(process.execPath, [script, folder], { cwd: fileOf('') });
    return readFileSync(join(folder, 'tv.js'), 'utf8');
  } finally {
    rmSync(folder, { recursive: true });
  }
}
