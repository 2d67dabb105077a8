import { join } from 'node:path';

const MAIN = join(import.meta.dir, '../../src/main.ts');

/**
 * Runs a relay that is expected to end by itself, in an environment that holds
 * nothing else. `preload` is a file that is loaded before it.
 */
export async function runRelay(
  env: Record<string, string>,
  args: string[] = [],
  preload?: string,
): Promise<{ exitCode: number; output: string }> {
  const preloading = preload === undefined ? [] : ['--preload', preload];
  const relay = Bun.spawn([process.execPath, ...preloading, MAIN, ...args], {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, errors] = await Promise.all([
    new Response(relay.stdout).text(),
    new Response(relay.stderr).text(),
  ]);
  return { exitCode: await relay.exited, output: out + errors };
}
