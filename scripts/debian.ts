/** Makes the Debian package of an executable: program, unit, settings, documentation. */
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import packageJson from '../package.json' with { type: 'json' };
import { listTracked, ROOT, run } from './run.ts';

/** May hold secrets, so only root reads it. */
const SETTINGS = 'etc/sign-in-relay/environment';
const DOCUMENTATION = 'usr/share/doc/sign-in-relay';

/** Where the files of the repository are in the package, and their modes. */
const FILES: readonly (readonly [from: string, to: string, mode?: number])[] = [
  ['deploy/debian/sign-in-relay.service', 'usr/lib/systemd/system/sign-in-relay.service'],
  ['deploy/debian/environment', SETTINGS, 0o640],
  ['deploy/debian/certbot-deploy-hook', 'usr/lib/sign-in-relay/certbot-deploy-hook', 0o755],
  ['deploy/debian/lintian-overrides', 'usr/share/lintian/overrides/sign-in-relay'],
  ['LICENSE', `${DOCUMENTATION}/copyright`],
  ...['postinst', 'prerm', 'postrm'].map(
    (script) => [`deploy/debian/${script}`, `DEBIAN/${script}`, 0o755] as const,
  ),
];

/** What the documentation consists of. It keeps its folders, so that its links lead somewhere. */
const DOCUMENTS = [
  ...['docs', 'deploy', 'examples', 'demo/tv.html'],
  ...['client/README.md', 'conformance/README.md', ':(top,glob)*.md'],
];

/** Debian installs the package from here. Nobody answers mail at it: the field is obligatory. */
const MAINTAINER = 'Sign-in Relay <sign-in-relay@localhost>';

/** LoadCredential= of a folder, in the unit, is of systemd 251. */
const DEPENDS = 'libc6 (>= 2.17), passwd, systemd (>= 251)';

export type DebianArchitecture = 'amd64' | 'arm64';

export function buildDebianPackage(
  executable: string,
  architecture: DebianArchitecture,
  file: string,
  compressor: 'xz' | 'gzip' = 'xz',
): void {
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-debian-'));
  const place = (from: string, to: string, mode = 0o644) => copy(from, join(folder, to), mode);
  try {
    // dpkg takes the modes as they are; a folder made by mkdtemp is closed.
    chmodSync(folder, 0o755);
    place(executable, 'usr/bin/sign-in-relay', 0o755);
    for (const [from, to, mode] of FILES) place(join(ROOT, from), to, mode);
    for (const document of listTracked(...DOCUMENTS)) {
      place(join(ROOT, document), join(DOCUMENTATION, document));
    }
    symlinkSync('copyright', join(folder, DOCUMENTATION, 'LICENSE'));
    mkdirSync(join(folder, 'etc/sign-in-relay/secrets'), { mode: 0o700 });
    const manual = readFileSync(join(ROOT, 'deploy/debian/sign-in-relay.1'));
    compress(manual, join(folder, 'usr/share/man/man1/sign-in-relay.1.gz'));
    compress(describeChanges(), join(folder, DOCUMENTATION, 'changelog.gz'));
    writeFileSync(join(folder, 'DEBIAN/conffiles'), `/${SETTINGS}\n`);
    writeFileSync(join(folder, 'DEBIAN/control'), describeControl(architecture));
    // Of the files' times none is later than the commit, so the same commit makes the same package.
    const env = { SOURCE_DATE_EPOCH: timeOfCommit('%ct') };
    const options = ['--root-owner-group', `-Z${compressor}`, '-z1', '--build'];
    run(['dpkg-deb', ...options, folder, file], env);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function copy(from: string, to: string, mode: number): void {
  makeFolderOf(to);
  copyFileSync(from, to);
  chmodSync(to, mode);
}

function compress(text: string | Buffer, to: string): void {
  makeFolderOf(to);
  writeFileSync(to, gzipSync(text, { level: 9 }));
}

const makeFolderOf = (path: string) => mkdirSync(dirname(path), { recursive: true, mode: 0o755 });

const timeOfCommit = (format: string) => run(['git', 'log', '-1', `--format=${format}`]).trim();

/** The changelog in Debian's form, which every package must have. */
function describeChanges(): string {
  return `sign-in-relay (${packageJson.version}) stable; urgency=medium

  * What changed is in /${DOCUMENTATION}/CHANGELOG.md.

 -- ${MAINTAINER}  ${timeOfCommit('%cD')}
`;
}

function describeControl(architecture: DebianArchitecture): string {
  return `Package: sign-in-relay
Version: ${packageJson.version}
Architecture: ${architecture}
Maintainer: ${MAINTAINER}
Depends: ${DEPENDS}
Section: net
Priority: optional
Description: OAuth 2.0 sign-in for devices without a browser
${packageJson.description.replace(/(.{1,78})(?: |$)/g, ' $1\n')}`;
}
