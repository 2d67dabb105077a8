/** What the tests need that npm does not bring. */
import { runCommand } from './step.ts';

/** The command that is looked for, and the Debian package that holds it. */
const NEEDED: Record<string, string> = {
  chromium: 'chromium',
  openssl: 'openssl',
  node: 'nodejs',
  'redis-server': 'redis-server',
  'redis-cli': 'redis-tools',
  nginx: 'nginx-light',
};

/** Installs what is missing where apt-get can; elsewhere the error names it. */
export async function installWhatIsMissing(): Promise<void> {
  const packages = missingPackages();
  if (packages.length === 0) return;
  if (Bun.which('apt-get') === null || process.getuid?.() !== 0) throw missingError(packages);
  console.log(`installing with apt-get: ${packages.join(', ')}`);
  await aptGet(['update']);
  await aptGet(['install', '--yes', '--no-install-recommends', ...packages]);
  const still = missingPackages();
  if (still.length > 0) throw missingError(still);
}

function missingPackages(): string[] {
  return Object.entries(NEEDED).flatMap(([command, name]) =>
    Bun.which(command) === null ? [name] : [],
  );
}

async function aptGet(args: string[]): Promise<void> {
  const result = await runCommand(['apt-get', ...args], { DEBIAN_FRONTEND: 'noninteractive' });
  if (result.exitCode !== 0) console.log(result.output);
}

function missingError(packages: string[]): Error {
  const names = packages.join(' ');
  return new Error(
    `The tests need ${names}, not here yet. Install and run again; on Debian as root: apt-get install ${names}`,
  );
}
