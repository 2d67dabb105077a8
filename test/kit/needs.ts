/**
 * What the tests run besides packages: programs, and systems. `npm test` leaves out what this
 * machine cannot run, and names each part. With CI=true nothing may be missing.
 */
import { appendFileSync, existsSync } from 'node:fs';

/** The browser without its windows: the same engine for a third of the processor time. */
export const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell';

/** For the program of Android TV. */
export const ANDROID_JSON = '/usr/share/java/json-android.jar';

/** The system's Python: another one in PATH lacks its modules, and may be too old. */
export const PYTHON = '/usr/bin/python3';

const areInPath = (...programs: readonly string[]) =>
  programs.every((program) => Bun.which(program) !== null);

function works(command: string[]): boolean {
  return (
    areInPath(command[0] ?? '') &&
    Bun.spawnSync(command, { stdio: ['ignore', 'ignore', 'ignore'] }).success
  );
}

const FOUND = {
  // Those of each POSIX system: `sh` is not enough for the scripts.
  'POSIX commands': () => areInPath('mkfifo', 'nohup', 'sed', 'seq', 'stty', 'tar', 'uname'),
  OpenSSL: () => areInPath('openssl'),
  'curl and qrencode': () => areInPath('bash', 'curl', 'date', 'qrencode'),
  Chromium: () => existsSync(CHROMIUM),
  Redis: () => areInPath('redis-server', 'redis-cli'),
  Valkey: () => areInPath('valkey-server', 'valkey-cli'),
  nginx: () => areInPath('nginx'),
  Caddy: () => areInPath('caddy'),
  Prometheus: () => areInPath('prometheus', 'promtool'),
  Python: () => works([PYTHON, '-c', 'import authlib, oauthlib, qrcode, requests']),
  MicroPython: () => areInPath('micropython'),
  Lua: () => works(['luajit', '-e', 'require("socket") require("ssl") require("cjson")']),
  Go: () => areInPath('go'),
  Java: () => areInPath('java') && existsSync(ANDROID_JSON),
  Linux: () => process.platform === 'linux',
  'Linux namespaces': () => works(['unshare', '--map-root-user', '--mount', 'true']),
  'systemd as root': () =>
    areInPath('systemd-analyze') &&
    process.getuid?.() === 0 &&
    works(['unshare', '--mount', 'true']),
  'processes of POSIX': () => process.platform !== 'win32',
};

export type Need = keyof typeof FOUND;

export const isHere = (need: Need): boolean => FOUND[need]();

export const findMissing = () => (Object.keys(FOUND) as Need[]).filter((need) => !isHere(need));

/** Whole files, by the beginning of their paths: `npm test` leaves them out, and a file that is run alone fails because the program is missing. */
export const FILES: Readonly<Record<string, readonly Need[]>> = {
  'browser/': ['Chromium'],
  'client/browser.': ['Chromium'],
  'client/killed.': ['processes of POSIX'],
  'clients/starter.': ['Chromium'],
  'clients/': ['processes of POSIX'],
  'deploy/alerts.': ['Prometheus'],
  'deploy/old-paths.': ['nginx', 'Caddy', 'OpenSSL'],
  'deploy/package.': ['Linux'],
  'deploy/proxy': ['nginx', 'Caddy', 'OpenSSL', 'Redis', 'Valkey'],
  'deploy/systemd.': ['systemd as root', 'curl and qrencode'],
  'deploy/valkey.': ['Valkey', 'OpenSSL'],
  'deploy/': ['processes of POSIX'],
  'dev/page.': ['Chromium'],
  'dev/tv.': ['Chromium'],
  'dev/': ['processes of POSIX'],
  'devices/sign-in.': ['processes of POSIX'],
  'login/': ['processes of POSIX'],
  'redis/': ['Redis'],
  'serve/redis-start.': ['Redis', 'OpenSSL'],
  'serve/smuggling.': ['nginx', 'OpenSSL'],
  'serve/': ['processes of POSIX'],
  'stores/acl.': ['Redis', 'Valkey'],
  'stores/internals.': ['Redis'],
  'stores/redis.': ['Redis', 'OpenSSL'],
  'stores/sealed.': ['Redis'],
  'stores/tampered.': ['Redis'],
  'workers/': ['processes of POSIX'],
};

/** How the end of `npm test` names a part that is left out. Undefined: nothing is missing. */
export function describeLeftOut(needs: readonly Need[], shows: string): string | undefined {
  const missing = needs.filter((need) => !isHere(need));
  return missing.length === 0 ? undefined : `${missing.join(', ')}: ${shows}`;
}

/** Whether this machine can run a part of a file, for `test.if` and `describe.if`. What it cannot run is recorded. */
export function has(needs: Need | readonly Need[], shows: string): boolean {
  const leftOut = describeLeftOut([needs].flat(), shows);
  const { RELAY_TEST_LEFT_OUT } = process.env;
  if (RELAY_TEST_LEFT_OUT && leftOut) appendFileSync(RELAY_TEST_LEFT_OUT, `${leftOut}\n`);
  return leftOut === undefined;
}
