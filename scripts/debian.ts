/** Makes the Debian package of an executable: program, unit, settings, documentation. */
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import packageJson from '../package.json' with { type: 'json' };

const ROOT = join(import.meta.dir, '..');

/** May hold secrets, so only root reads it. */
const SETTINGS = 'etc/sign-in-relay/environment';

/** Where the files of the repository are in the package. */
const FILES: Readonly<Record<string, string>> = {
  'deploy/debian/sign-in-relay.service': 'usr/lib/systemd/system/sign-in-relay.service',
  'deploy/debian/environment': SETTINGS,
  LICENSE: 'usr/share/doc/sign-in-relay/copyright',
  'CHANGELOG.md': 'usr/share/doc/sign-in-relay/CHANGELOG.md',
  'docs/configuration.md': 'usr/share/doc/sign-in-relay/configuration.md',
  'docs/operating.md': 'usr/share/doc/sign-in-relay/operating.md',
  'docs/providers.md': 'usr/share/doc/sign-in-relay/providers.md',
};

/** Debian installs the package from here. Nobody answers mail at it: the field is obligatory. */
const MAINTAINER = 'Sign-in Relay <sign-in-relay@localhost>';

export type DebianArchitecture = 'amd64' | 'arm64';

export function buildDebianPackage(
  executable: string,
  architecture: DebianArchitecture,
  file: string,
): void {
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-debian-'));
  try {
    // dpkg takes the modes as they are; a folder made by mkdtemp is closed.
    chmodSync(folder, 0o755);
    copy(executable, join(folder, 'usr/bin/sign-in-relay'), 0o755);
    for (const [from, to] of Object.entries(FILES)) {
      copy(join(ROOT, from), join(folder, to), to === SETTINGS ? 0o640 : 0o644);
    }
    mkdirSync(join(folder, 'etc/sign-in-relay/secrets'), { mode: 0o700 });
    for (const script of ['postinst', 'prerm', 'postrm']) {
      copy(join(ROOT, 'deploy/debian', script), join(folder, 'DEBIAN', script), 0o755);
    }
    writeFileSync(join(folder, 'DEBIAN/conffiles'), `/${SETTINGS}\n`);
    writeFileSync(join(folder, 'DEBIAN/control'), controlOf(architecture));
    const command = ['dpkg-deb', '--root-owner-group', '-Zzstd', '-z3', '--build', folder, file];
    const { exitCode, stderr } = Bun.spawnSync(command);
    if (exitCode !== 0) throw new Error(`dpkg-deb failed:\n${stderr}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function copy(from: string, to: string, mode: number): void {
  mkdirSync(dirname(to), { recursive: true, mode: 0o755 });
  copyFileSync(from, to);
  chmodSync(to, mode);
}

function controlOf(architecture: DebianArchitecture): string {
  return `Package: sign-in-relay
Version: ${packageJson.version}
Architecture: ${architecture}
Maintainer: ${MAINTAINER}
Depends: libc6 (>= 2.17), passwd
Recommends: systemd
Section: net
Priority: optional
Description: OAuth 2.0 sign-in for devices without a browser
 ${packageJson.description}
`;
}
