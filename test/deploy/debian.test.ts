/** The Debian package: made, installed, run, upgraded and removed, as docs/install.md says; at last under systemd. */
import { afterAll, beforeAll, expect, onTestFinished, setDefaultTimeout, test } from 'bun:test';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { buildExecutable, findCommit } from '../../scripts/build.ts';
import { buildDebianPackage } from '../../scripts/debian.ts';
import { findFreePort, runChild } from '../kit/process.ts';
import { startTokenEndpoint } from '../kit/provider.ts';
import { launchRelay, ROOT } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';
import { expectUnaffected, makeStrangeFolder } from '../kit/strange-folder.ts';
import { makeSelfSigned } from '../kit/tls.ts';

setDefaultTimeout(120_000);

const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-debian-test-'));
const strange = makeStrangeFolder(join(folder, 'strange'));
const EXECUTABLE = join(folder, 'sign-in-relay');

async function run(command: readonly string[], env: Record<string, string> = {}) {
  const { exitCode, output } = await runChild(command, { env, cwd: ROOT });
  if (exitCode !== 0) throw new Error(`${command.join(' ')} failed:\n${output}`);
  return output;
}

const file = join(folder, 'sign-in-relay.deb');
const UNIT = '/usr/lib/systemd/system/sign-in-relay.service';
const SETTINGS = '/etc/sign-in-relay/environment';
const modesOf = (path: string) => {
  const { mode, uid, gid } = statSync(path);
  return [mode & 0o777, uid, gid];
};

beforeAll(async () => {
  await buildExecutable(EXECUTABLE);
  // It would be removed at the end.
  if (existsSync('/etc/sign-in-relay')) throw new Error('this machine has a sign-in-relay already');
  // xz makes it smaller by a fifth, in 20 s in place of 2.
  buildDebianPackage(EXECUTABLE, 'amd64', file, 'gzip');
  await run(['dpkg', '--install', file]);
});
afterAll(async () => {
  await run(['dpkg', '--purge', 'sign-in-relay']);
  for (const path of ['/usr/bin/sign-in-relay', '/etc/sign-in-relay', UNIT]) {
    expect(existsSync(path)).toBe(false);
  }
  expect(readFileSync('/etc/group', 'utf8')).not.toContain('sign-in-relay');
  rmSync(folder, { recursive: true, force: true });
});

test('installs the program, and settings and a folder for secrets that only root can read', async () => {
  expect(await run(['/usr/bin/sign-in-relay', '--version'])).toStartWith(
    `${packageJson.version} (commit ${findCommit()})`,
  );
  await expectUnaffected(['/usr/bin/sign-in-relay'], { cwd: strange });
  expect(modesOf('/etc/sign-in-relay/secrets')).toEqual([0o700, 0, 0]);
  expect(modesOf(SETTINGS)).toEqual([0o640, 0, 0]);
});

test('an upgrade keeps the settings, and takes from others the right to read them', async () => {
  const settings = readFileSync(SETTINGS, 'utf8');
  const copy = `${SETTINGS}.dpkg-old`;
  onTestFinished(() => {
    writeFileSync(SETTINGS, settings);
    rmSync(copy, { force: true });
  });
  for (const path of [SETTINGS, copy]) {
    writeFileSync(path, `${settings}MAL_CLIENT_ID=mine\n`);
    chmodSync(path, 0o644);
  }
  await run(['dpkg', '--install', file]);
  for (const path of [SETTINGS, copy]) {
    expect(statSync(path).mode & 0o777).toBe(0o640);
    expect(readFileSync(path, 'utf8')).toEndWith('MAL_CLIENT_ID=mine\n');
  }
});

test('lintian finds no error', async () => {
  await run(['lintian', '--fail-on=error', file]);
});

test('its documentation links only to files that it has too', async () => {
  const contents = join(folder, 'contents');
  await run(['dpkg-deb', '--extract', file, contents]);
  const documentation = join(contents, 'usr/share/doc/sign-in-relay');
  const missing = [...new Bun.Glob('**/*.md').scanSync(documentation)].flatMap((page) => {
    const text = readFileSync(join(documentation, page), 'utf8').replace(
      /^```.*?^```|`[^`\n]*`/gms,
      '',
    );
    const links = [...text.matchAll(/\]\(([^)#\s]+)/g)].map(([, link = '']) => link);
    return links
      .filter((link) => !/^[a-z]+:/.test(link))
      .filter((link) => !existsSync(join(documentation, dirname(page), link)))
      .map((link) => `${page}: ${link}`);
  });
  expect(missing).toEqual([]);
  const unit = readFileSync(join(contents, UNIT), 'utf8');
  const [, page = ''] = /^Documentation=.*file:\/\/(\S+)$/m.exec(unit) ?? [];
  expect(existsSync(join(contents, page))).toBe(true);
  for (const name of ['nginx.conf', 'Caddyfile', 'alerts.yaml', 'grafana.json']) {
    expect(existsSync(join(documentation, 'deploy', name))).toBe(true);
  }
});

test('its manual has each command', async () => {
  const manual = await run(['man', '--local-file', 'deploy/debian/sign-in-relay.1']);
  const help = await run([EXECUTABLE, '--help']);
  const commands = [...help.matchAll(/^ {7}sign-in-relay ([a-z]+)/gm)].map(([, name]) => name);
  expect(commands).toContain('check');
  for (const command of commands) expect(manual).toMatch(new RegExp(`^ {7}${command}\\b`, 'm'));
});

test('the hook of certbot gives the relay a certificate, and a renewed one without a restart', async () => {
  const certificates = '/etc/sign-in-relay/tls';
  const { output: group } = await runChild(['getent', 'group', 'sign-in-relay-proxy']);
  const gid = Number(group.split(':')[2]);
  const lineage = join(folder, 'lineage');
  mkdirSync(lineage, { mode: 0o700 });
  const renew = async () => {
    const { key, cert } = await makeSelfSigned();
    writeFileSync(join(lineage, 'privkey.pem'), key);
    writeFileSync(join(lineage, 'fullchain.pem'), cert);
    await run(['/usr/lib/sign-in-relay/certbot-deploy-hook'], { RENEWED_LINEAGE: lineage });
  };
  await renew();
  expect(modesOf(certificates)).toEqual([0o750, 0, gid]);
  expect(readdirSync(certificates).sort()).toEqual(['fullchain.pem', 'privkey.pem']);
  for (const name of readdirSync(certificates)) {
    expect(modesOf(join(certificates, name))).toEqual([0o640, 0, gid]);
  }
  const env = {
    TLS_CERT_FILE: `${certificates}/fullchain.pem`,
    TLS_KEY_FILE: `${certificates}/privkey.pem`,
  };
  const command = [...asUser('65534', `${gid}`), '/usr/bin/sign-in-relay'];
  const relay = await launchRelay(env, { command });
  onTestFinished(() => relay.stop('SIGKILL').then(() => {}));
  await relay.waitForEvent('listening');
  await renew();
  await relay.waitForEvent('certificate_renewed');
  expect(await relay.stop()).toBe(0);
});

test('`check` sees the settings and secrets of the unit, by the command that the docs have', async () => {
  const page = readFileSync(join(ROOT, 'docs/operating.md'), 'utf8');
  const [command = ''] = /^sed .*sign-in-relay check --env-file .*$/m.exec(page) ?? [];
  const settings = readFileSync(SETTINGS, 'utf8');
  const secret = '/etc/sign-in-relay/secrets/mal';
  onTestFinished(() => {
    writeFileSync(SETTINGS, settings);
    rmSync(secret);
  });
  using provider = startTokenEndpoint();
  const port = await findFreePort();
  const added = [
    ...[`OAUTH_BASE_URL=http://127.0.0.1:${port}`, `PORT=${port}`, 'TRUSTED_PROXY_CIDRS='],
    ...['POLL_SECONDS=1', 'MAL_CLIENT_ID=id', `MAL_TOKEN_URL=${provider.tokenUrl}`],
    'MAL_CLIENT_SECRET_FILE=/run/credentials/sign-in-relay.service/secret_mal',
  ];
  writeFileSync(SETTINGS, `${settings}${added.join('\n')}\n`);
  writeFileSync(secret, plantSecret('a-secret-of-the-package'), { mode: 0o600 });
  const { output } = await runChild(['sh', '-c', command]);
  for (const line of ['settings: the relay can start', 'base URL: http', 'poll: held for 1 s']) {
    expect(output).toContain(`✓ ${line}`);
  }
  expect(output).not.toContain('a-secret-of-the-package');
});

test('systemd accepts the unit, and rates its exposure at 1.4 or less', async () => {
  expect(await run(['systemd-analyze', 'verify', UNIT])).toBe('');
  const report = await run(['systemd-analyze', 'security', '--offline=yes', '--no-pager', UNIT]);
  const [, exposure] =
    /Overall exposure level for sign-in-relay.service: ([\d.]+)/.exec(report) ?? [];
  expect(Number(exposure)).toBeLessThanOrEqual(1.4);
});

test('the settings that it brings start a relay, as a user without any right', async () => {
  const settings = readFileSync(SETTINGS, 'utf8');
  const env = Object.fromEntries(
    [...settings.matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
  const command = [...asUser('65534', '65534'), '/usr/bin/sign-in-relay'];
  const port = await findFreePort();
  const relay = await launchRelay({ ...env, PORT: `${port}` }, { command, port });
  // The kernel forgets to end it with us, since its user changes.
  onTestFinished(() => relay.stop('SIGKILL').then(() => {}));
  const { url } = await relay.waitForEvent('listening');
  expect(url).toBe(`http://127.0.0.1:${port}`);
  expect(relay.events('setting')).toEqual([]);
  expect(await relay.stop()).toBe(0);
});

test('a proxy in the group of the unit may connect to a Unix socket, and no other user', async () => {
  const unit = readFileSync(UNIT, 'utf8');
  const settingOf = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? '';
  const group = settingOf('Group');
  // As systemd makes it, for RuntimeDirectory.
  const runtimeFolder = mkdtempSync('/run/sign-in-relay-test-');
  onTestFinished(() => rmSync(runtimeFolder, { recursive: true }));
  await run(['chown', `65534:${group}`, runtimeFolder]);
  chmodSync(runtimeFolder, 0o755);
  const HOST = `unix:${runtimeFolder}/relay.sock`;
  const withUmask = ['sh', '-c', `umask ${settingOf('UMask')}; exec "$@"`, 'sh'];
  const command = [...withUmask, ...asUser('65534', group), '/usr/bin/sign-in-relay'];
  const relay = await launchRelay({ HOST }, { command });
  onTestFinished(() => relay.stop('SIGKILL').then(() => {}));
  await relay.waitForEvent('listening');
  const askAs = (...groups: readonly string[]) =>
    runChild([...asUser('www-data', 'www-data', ...groups), '/usr/bin/sign-in-relay', 'health'], {
      env: { HOST, OAUTH_BASE_URL: 'https://relay.example', MAL_CLIENT_ID: 'x' },
    });
  expect(await askAs(group)).toMatchObject({ exitCode: 0, output: 'ok\n' });
  const refused = await askAs();
  expect(refused).toMatchObject({ exitCode: 1, output: expect.stringContaining('EACCES') });
  expect(await relay.stop()).toBe(0);
});

test('systemd starts it, gives it its secrets, and upgrades it', async () => {
  const script = `
    exec > /shared/output 2>&1
    cd /etc/sign-in-relay
    service() { echo "$1: $(systemctl $1 sign-in-relay && systemctl is-active sign-in-relay)"; }
    sed -i 's/^#OAUTH/OAUTH/; s/^#\\(MAL_CLIENT_\\)/\\1/' environment
    echo a-secret > secrets/mal
    service start
    # At once: systemctl has returned because the relay listens.
    curl --silent --show-error http://127.0.0.1:8080/ready && echo
    service reload
    echo POLL_SECONDS=none >> environment
    dpkg --install /shared/sign-in-relay.deb
    echo "upgrade to a relay that does not start: $(dpkg-query --show --showformat='\${Status}' sign-in-relay)"
    echo "wrong setting: $(systemctl show --value --property=NRestarts --property=ActiveState sign-in-relay | xargs)"
    sed -i /POLL_SECONDS/d environment
    service restart
    journalctl --unit=sign-in-relay --output=cat --no-pager
  `;
  const shared = mkdtempSync(join(folder, 'systemd-'));
  writeFileSync(join(shared, 'script'), script);
  cpSync(file, join(shared, 'sign-in-relay.deb'));
  await run(['unshare', '--mount', 'test/deploy/boot-systemd.sh', shared, 'script']);
  const output = readFileSync(join(shared, 'output'), 'utf8');
  const lines = output
    .split('\n')
    .filter((line) => /^(start|curl|ready|reload|upgrade|wrong|restart)\b/.test(line));
  expect(lines).toEqual([
    'start: active',
    'ready',
    'reload: active',
    'upgrade to a relay that does not start: install ok installed',
    'wrong setting: 0 failed',
    'restart: active',
  ]);
  expect(output).toContain('Job for sign-in-relay.service failed');
  expect(output).toContain('"setting":"POLL_SECONDS"');
});

test('under systemd a secret is replaced without a restart, as docs/rotating.md says', async () => {
  const page = readFileSync(join(ROOT, 'docs/rotating.md'), 'utf8');
  const [, commands = ''] = /^```sh\n(groupadd .*?)^```$/ms.exec(page) ?? [];
  const script = `
    exec > /shared/output 2>&1
    cd /etc/sign-in-relay
    sed -i 's/^#OAUTH/OAUTH/; s/^#\\(MAL_CLIENT_ID\\)/\\1/' environment
    echo MAL_CLIENT_SECRET_FILE=/etc/sign-in-relay/live/mal >> environment
    echo a-secret > secrets/mal
    ${commands}
    systemctl restart sign-in-relay
    before=$(systemctl show --property=MainPID sign-in-relay)
    echo another-secret > secrets/mal
    install -m 0640 -g sign-in-relay-secrets secrets/mal live/mal
    systemctl reload sign-in-relay
    for i in $(seq 100); do
      journalctl --unit=sign-in-relay --output=cat | grep -q secrets_reloaded && break
      sleep 0.1
    done
    [ "$before" = "$(systemctl show --property=MainPID sign-in-relay)" ] && echo the same process
    journalctl --unit=sign-in-relay --output=cat --no-pager
  `;
  const shared = mkdtempSync(join(folder, 'systemd-'));
  writeFileSync(join(shared, 'script'), script);
  await run(['unshare', '--mount', 'test/deploy/boot-systemd.sh', shared, 'script']);
  const output = readFileSync(join(shared, 'output'), 'utf8');
  expect(output).toContain('the same process\n');
  expect(output).toContain('"event":"secrets_reloaded","renewed":["MAL_CLIENT_SECRET_FILE"]');
});

/** A command before another, which then runs as this user, in these groups alone and without any right. */
function asUser(user: string, group: string, ...groups: readonly string[]): string[] {
  const others = groups.length === 0 ? '--clear-groups' : `--groups=${groups.join(',')}`;
  const rights = ['--inh-caps=-all', '--bounding-set=-all', '--no-new-privs'];
  return ['setpriv', `--reuid=${user}`, `--regid=${group}`, others, ...rights];
}
