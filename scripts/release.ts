/**
 * `npm run release` writes everything that a release consists of into a folder, dist/release
 * or the one that is given: npm packages, executables, the files of deploy/, a
 * bill of materials, and the checksums of all.
 */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import packageJson from '../package.json' with { type: 'json' };
import { buildExecutable, EXECUTABLES, findCommit } from './build.ts';
import { listTracked, ROOT, run } from './run.ts';

const { name, version } = packageJson;
const CHECKSUMS = 'SHA256SUMS';

/** The folder is there once the release is complete. */
async function main(): Promise<void> {
  const { positionals } = parseArgs({ allowPositionals: true });
  const [folder = join(ROOT, 'dist/release'), ...others] = positionals.map((path) => resolve(path));
  if (others.length > 0) throw new Error('One folder at most');
  if (existsSync(folder)) throw new Error(`${folder} exists. Remove it, or name another`);
  mkdirSync(dirname(folder), { recursive: true });
  const release = mkdtempSync(`${folder}-`);
  try {
    chmodSync(release, 0o755);
    await writeRelease(release);
    renameSync(release, folder);
  } finally {
    rmSync(release, { recursive: true, force: true });
  }
  console.log(`${folder}:\n${readFileSync(join(folder, CHECKSUMS), 'utf8')}`);
}

async function writeRelease(release: string): Promise<void> {
  const file = (ending: string) => join(release, `${name}-${version}${ending}`);
  const commit = findCommit();
  if (commit === undefined || commit.endsWith('-changed')) {
    console.log(`not from a commit: ${commit ?? 'no checkout'}`);
  }

  run(['npm', 'pack', '--silent', '--pack-destination', release, '.', './client']);
  for (const target of EXECUTABLES) await buildExecutable(file(`-${target}`), target);
  const owner = ['--sort=name', '--owner=0', '--group=0'];
  run(['tar', ...owner, '-czf', file('-deploy.tar.gz'), '--', ...listTracked(['deploy'])]);
  writeFileSync(file('.cdx.json'), describeMaterials());
  copyFileSync(join(ROOT, 'CHANGELOG.md'), join(release, 'CHANGELOG.md'));
  const checksums = run(['sh', '-c', 'cd "$1" && sha256sum *', 'sh', release]);
  writeFileSync(join(release, CHECKSUMS), checksums);
}

/** What is in the executables, in CycloneDX: the dependencies at run time, Bun among them. */
function describeMaterials(): string {
  const options = ['--package-lock-only', '--omit=dev', '--sbom-type=application'];
  const materials = JSON.parse(run(['npm', 'sbom', ...options, '--sbom-format=cyclonedx']));
  // npm takes the name of the folder.
  materials.metadata.component.name = name;
  return `${JSON.stringify(materials, null, 2)}\n`;
}

if (import.meta.main) await main();
