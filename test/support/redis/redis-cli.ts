import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A frozen server never answers. */
const TIMEOUT_MS = 10_000;
const MAX_OUTPUT_BYTES = 64 * 1_024 * 1_024;

/** What redis-cli prints, without the last line's end. Rejects when Redis answers with an error. */
export async function runRedisCli(args: readonly string[], password: string): Promise<string> {
  // -e: an error is an exit code, not a text that looks like an answer.
  const { stdout } = await run('redis-cli', ['-e', ...args], {
    env: { PATH: process.env.PATH ?? '', ...(password !== '' && { REDISCLI_AUTH: password }) },
    timeout: TIMEOUT_MS,
    maxBuffer: MAX_OUTPUT_BYTES,
  });
  return stdout.replace(/\n$/, '');
}
