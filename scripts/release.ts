/**
 * `npm run release` writes everything that a release consists of into a folder, dist/release
 * or the one that is given: npm packages, executables, the files of deploy/, a
 * bill of materials, and the checksums of all. `--image` builds the image too, with buildah.
 */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import packageJson from '../package.json' with { type: 'json' };
import { buildExecutable, EXECUTABLES, type ExecutableTarget, findCommit } from './build.ts';
import { listTracked, ROOT, run } from './run.ts';

const { name, version } = packageJson;
const CHECKSUMS = 'SHA256SUMS';

/** The folder is replaced once the release is complete, so one that failed leaves what was there. */
async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { image: { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  const [folder = join(ROOT, 'dist/release'), ...others] = positionals.map((path) => resolve(path));
  if (others.length > 0) throw new Error('One folder at most');
  if (!mayReplace(folder)) {
    throw new Error(`${folder} is not an earlier release. Remove it yourself, or name another`);
  }
  mkdirSync(dirname(folder), { recursive: true });
  const release = mkdtempSync(`${folder}-`);
  try {
    chmodSync(release, 0o755);
    await writeRelease(release, values.image);
    removeRelease(folder);
    renameSync(release, folder);
  } finally {
    rmSync(release, { recursive: true, force: true });
  }
  console.log(`${folder}:\n${readFileSync(join(folder, CHECKSUMS), 'utf8')}`);
}

/** Nothing there, an empty folder, or a release of which each file is as it was written. */
export function mayReplace(folder: string): boolean {
  if (!existsSync(folder)) return true;
  if (!lstatSync(folder).isDirectory()) return false;
  const entries = readdirSync(folder, { withFileTypes: true });
  if (entries.length === 0) return true;
  const checksums = join(folder, CHECKSUMS);
  return (
    entries.every((entry) => entry.isFile()) &&
    existsSync(checksums) &&
    readFileSync(checksums, 'utf8') === describeChecksums(folder)
  );
}

export function removeRelease(folder: string): void {
  if (!mayReplace(folder)) throw new Error(`${folder} has changed meanwhile`);
  if (!existsSync(folder)) return;
  for (const file of readdirSync(folder)) unlinkSync(join(folder, file));
  rmdirSync(folder);
}

function describeChecksums(folder: string): string {
  const names = readdirSync(folder).filter((each) => each !== CHECKSUMS);
  const lines = names.sort().map((each) => {
    const digest = createHash('sha256').update(readFileSync(join(folder, each)));
    return `${digest.digest('hex')}  ${each}\n`;
  });
  return lines.join('');
}

async function writeRelease(release: string, withImage: boolean): Promise<void> {
  const file = (ending: string) => join(release, `${name}-${version}${ending}`);
  const commit = findCommit();
  if (commit === undefined || commit.endsWith('-changed')) {
    console.log(`not from a commit: ${commit ?? 'no checkout'}`);
  }

  run(['npm', 'pack', '--silent', '--pack-destination', release, '.', './client']);
  for (const [target, ending] of Object.entries(EXECUTABLES)) {
    await buildExecutable(file(`-${ending}`), target as ExecutableTarget);
  }
  const owner = ['--sort=name', '--owner=0', '--group=0'];
  run(['tar', ...owner, '-czf', file('-deploy.tar.gz'), '--', ...listTracked('deploy')]);
  writeFileSync(file('.cdx.json'), describeMaterials());
  copyFileSync(join(ROOT, 'CHANGELOG.md'), join(release, 'CHANGELOG.md'));
  if (withImage) buildImage(release, file('-image.tar'));
  else console.log('without the image: --image builds it with buildah');
  writeFileSync(join(release, CHECKSUMS), describeChecksums(release));
}

/** What is in the executables, in CycloneDX: the dependencies at run time, Bun among them. */
function describeMaterials(): string {
  const options = ['--package-lock-only', '--omit=dev', '--sbom-type=application'];
  const materials = JSON.parse(run(['npm', 'sbom', ...options, '--sbom-format=cyclonedx']));
  // npm takes the name of the folder.
  materials.metadata.component.name = name;
  return `${JSON.stringify(materials, null, 2)}\n`;
}

/** Of the executable for this machine, with no need of the network once its base image is here. */
function buildImage(release: string, file: string): void {
  const context = mkdtempSync(join(tmpdir(), 'sign-in-relay-image-'));
  try {
    run(['scripts/image-context.sh', release, context]);
    const options = ['--file=deploy/Dockerfile', '--ignorefile=deploy/Dockerfile.dockerignore'];
    const executable = `--build-context=executable=${context}`;
    run(['buildah', 'build', ...options, executable, `--tag=${name}:${version}`, '.']);
    run(['buildah', 'push', `${name}:${version}`, `oci-archive:${file}:${version}`]);
  } finally {
    rmSync(context, { recursive: true, force: true });
  }
}

if (import.meta.main) await main();
