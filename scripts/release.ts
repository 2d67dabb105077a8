/**
 * `npm run release` writes everything that a release consists of into a folder, dist/release
 * or the one that is given: npm package, executables, Debian packages, the files of deploy/,
 * a bill of materials, and the checksums of all. The image is built where buildah is.
 */
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import packageJson from '../package.json' with { type: 'json' };
import { buildExecutable, EXECUTABLES, type ExecutableTarget, findCommit } from './build.ts';
import { buildDebianPackage } from './debian.ts';

const ROOT = join(import.meta.dir, '..');
const { name, version } = packageJson;

/** Debian runs on processors without AVX2. */
const DEBIAN = { 'linux-x64-baseline': 'amd64', 'linux-arm64': 'arm64' } as const;

function main([folder = join(ROOT, 'dist/release'), ...options]: readonly string[]): void {
  const release = resolve(folder);
  rmSync(release, { recursive: true, force: true });
  mkdirSync(release, { recursive: true });
  const file = (ending: string) => join(release, `${name}-${version}${ending}`);
  const commit = findCommit();
  if (commit === undefined || commit.endsWith('-changed')) {
    console.log(`not from a commit: ${commit ?? 'no checkout'}`);
  }

  run('npm', 'pack', '--silent', '--pack-destination', release);
  for (const [target, ending] of Object.entries(EXECUTABLES)) {
    buildExecutable(file(`-${ending}`), target as ExecutableTarget);
  }
  for (const [ending, architecture] of Object.entries(DEBIAN)) {
    const debian = join(release, `${name}_${version}_${architecture}.deb`);
    buildDebianPackage(file(`-${ending}`), architecture as 'amd64' | 'arm64', debian);
  }
  run('tar', '--sort=name', '--owner=0', '--group=0', '-czf', file('-deploy.tar.gz'), 'deploy');
  writeFileSync(file('.cdx.json'), describeMaterials());
  copyFileSync(join(ROOT, 'CHANGELOG.md'), join(release, 'CHANGELOG.md'));
  if (options.includes('--image')) buildImage(file('-image.tar'), commit ?? '');
  else console.log('without the image: --image builds it with buildah');

  const lines = readdirSync(release).map((each) => {
    const digest = createHash('sha256').update(readFileSync(join(release, each)));
    return `${digest.digest('hex')}  ${each}\n`;
  });
  writeFileSync(join(release, 'SHA256SUMS'), lines.join(''));
  console.log(lines.join(''));
}

/** What is in the executables, in CycloneDX: the dependencies at run time, Bun among them. */
function describeMaterials(): string {
  const options = ['--package-lock-only', '--omit=dev', '--sbom-type=application'];
  const materials = JSON.parse(run('npm', 'sbom', ...options, '--sbom-format=cyclonedx'));
  // npm takes the name of the folder.
  materials.metadata.component.name = name;
  return `${JSON.stringify(materials, null, 2)}\n`;
}

function buildImage(file: string, commit: string): void {
  const build = ['build', '--file=deploy/Dockerfile', `--build-arg=COMMIT=${commit}`];
  run('buildah', ...build, `--tag=${name}:${version}`, '.');
  run('buildah', 'push', `${name}:${version}`, `oci-archive:${file}:${version}`);
}

function run(...command: readonly string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { cwd: ROOT });
  if (exitCode !== 0) throw new Error(`${command.join(' ')} failed:\n${stdout}${stderr}`);
  return stdout.toString();
}

main(process.argv.slice(2));
