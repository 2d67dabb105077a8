/** Programs that the scripts of a release run, by default in the root of the repository. */
import { join } from 'node:path';

export const ROOT = join(import.meta.dir, '..');

/** Returns what the program wrote; throws if it failed. */
export function run(command: readonly string[], cwd = ROOT): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { cwd });
  if (exitCode !== 0) throw new Error(`${command.join(' ')} failed:\n${stdout}${stderr}`);
  return stdout.toString();
}

/** The files that git tracks. Others, such as secrets from a trial of deploy/, are not for a release. */
export function listTracked(paths: readonly string[], checkout = ROOT): readonly string[] {
  return run(['git', 'ls-files', '-z', '--', ...paths], checkout)
    .split('\0')
    .filter(Boolean);
}
