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
  curl: 'curl',
};

/** The same for modules of the system's Python: another one that comes first in PATH has none of them. */
const NEEDED_BY_PYTHON: Record<string, string> = {
  oauthlib: 'python3-oauthlib',
};

/** Installs what is missing where apt-get can; elsewhere the error names it. */
export async function installWhatIsMissing(): Promise<void> {
  const packages = await missingPackages();
  if (packages.length === 0) return;
  if (Bun.which('apt-get') === null || process.getuid?.() !== 0) throw missingError(packages);
  console.log(`installing with apt-get: ${packages.join(', ')}`);
  await aptGet(['update']);
  await aptGet(['install', '--yes', '--no-install-recommends', ...packages]);
  const still = await missingPackages();
  if (still.length > 0) throw missingError(still);
}

async function missingPackages(): Promise<string[]> {
  const commands = Object.entries(NEEDED).filter(([command]) => Bun.which(command) === null);
  const modules = Object.entries(NEEDED_BY_PYTHON);
  const present = await Promise.all(modules.map(([module]) => canImport(module)));
  const missing = [...commands, ...modules.filter((_, index) => !present[index])];
  return missing.map(([, name]) => name);
}

async function canImport(module: string): Promise<boolean> {
  const python = Bun.which('python3', { PATH: '/usr/bin' });
  if (python === null) return false;
  return (await runCommand([python, '-c', `import ${module}`])).exitCode === 0;
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
