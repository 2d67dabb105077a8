/** The release before this one, unpacked from the history, for tests of a rolling update (docs/upgrading.md). */
import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runChild } from './process.ts';
import { MAIN, ROOT } from './relay.ts';

/**
 * The last state before sessions knew progress, cancellations, challenges and details,
 * with the dependencies that are installed now. Until a release has a tag it stands for
 * the old release.
 */
const OLD_COMMIT = process.env.RELAY_TEST_UPGRADE_FROM ?? '8e15a80';

export interface OldRelease {
  readonly main: string;
  remove(): void;
}

/** Where the history does not reach back to it, this build; it prints that. */
export async function unpackOldRelease(): Promise<OldRelease> {
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-old-'));
  const remove = () => rmSync(folder, { recursive: true });
  const script = 'git -C "$1" archive "$2" src package.json tsconfig.json | tar -x -C "$3"';
  await runChild(['/bin/sh', '-c', script, 'sh', ROOT, OLD_COMMIT, folder]);
  const main = join(folder, 'src', 'main.ts');
  if (!existsSync(main)) {
    console.log(
      `upgrade: NOT RUN against an old release, because the history here does not have ${OLD_COMMIT}. This build is both sides.`,
    );
    return { main: MAIN, remove };
  }
  console.log(`upgrade: from ${OLD_COMMIT}`);
  symlinkSync(`${ROOT}node_modules`, join(folder, 'node_modules'));
  return { main, remove };
}
