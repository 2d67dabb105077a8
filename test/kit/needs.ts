/**
 * What the tests run besides packages: programs, and systems. `npm test` leaves out what this
 * machine cannot run, and names each part with what it would have shown. With CI=true nothing may
 * be missing.
 */
import { appendFileSync, existsSync } from 'node:fs';

/** The browser without its windows: the same engine for a third of the processor time. */
export const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell';

/** For the program of Android TV. */
export const ANDROID_JSON = '/usr/share/java/json-android.jar';

/** Of the system, because another Python that is first in PATH has not its modules, and may be too old. */
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

const found = new Map<Need, boolean>();

export function isHere(need: Need): boolean {
  const known = found.get(need) ?? FOUND[need]();
  found.set(need, known);
  return known;
}

/** After an installation. */
export const forgetFound = () => found.clear();

export const findMissing = () => (Object.keys(FOUND) as Need[]).filter((need) => !isHere(need));

/** A part of the tests, and what it shows. */
export interface Part {
  readonly needs: readonly Need[];
  readonly shows: string;
}

/** Whole files: `npm test` does not run those that begin so, and tests run alone fail for want of the program. */
export const FILES: Readonly<Record<string, Part>> = {
  'browser/': {
    needs: ['Chromium'],
    shows:
      'users sign in in a browser, at real providers, also on bad networks and without a mouse',
  },
  'client/browser.': {
    needs: ['Chromium'],
    shows: 'the client works in web pages, and its TV build on old engines',
  },
  'client/killed.': {
    needs: ['processes of POSIX'],
    shows: 'an app that is killed or suspended at any moment loses no sign-in',
  },
  'clients/': {
    needs: ['Chromium'],
    shows: 'OAuth libraries and the starter of React sign in, with a user in a browser',
  },
  'deploy/alerts.': {
    needs: ['Prometheus', 'Redis'],
    shows: 'each alert fires when it should, and no other',
  },
  'deploy/old-paths.': {
    needs: ['nginx', 'Caddy', 'OpenSSL'],
    shows: 'apps of an older relay sign in by the addresses that it had',
  },
  'deploy/package.': {
    needs: ['Linux'],
    shows: 'the npm package and the executable serve wherever they are started',
  },
  'deploy/proxy': {
    needs: ['nginx', 'Caddy', 'OpenSSL', 'Redis', 'Valkey'],
    shows: 'proxies as deploy/ configures them hold polls, log no secret and survive restarts',
  },
  'deploy/systemd.': {
    needs: ['systemd as root', 'curl and qrencode'],
    shows: 'the unit installs, starts, restarts and upgrades a relay under systemd',
  },
  'deploy/valkey.': {
    needs: ['Valkey', 'OpenSSL'],
    shows: 'passwords of Valkey are replaced in the middle of a sign-in',
  },
  'deploy/': {
    needs: ['processes of POSIX'],
    shows: 'the npm package, the executable and the files of deploy/ do what the docs say',
  },
  'dev/page.': { needs: ['Chromium'], shows: 'the pages of `dev` work in a browser' },
  'dev/tv.': { needs: ['Chromium'], shows: 'the television of `dev` works by remote control' },
  'dev/': { needs: ['processes of POSIX'], shows: '`dev` ends each sign-in as it was told to' },
  'devices/sign-in.': {
    needs: ['processes of POSIX'],
    shows: 'the programs for devices sign in on networks that fail',
  },
  'login/': {
    needs: ['processes of POSIX'],
    shows: '`login`, `token` and `logout` work in a terminal and in scripts',
  },
  'redis/': {
    needs: ['Redis'],
    shows: 'relays that share a Redis lose nothing, whatever fails there',
  },
  'serve/redis-start.': {
    needs: ['Redis', 'OpenSSL'],
    shows: 'a relay starts as soon as its Redis can be used, and says what is wrong until then',
  },
  'serve/smuggling.': {
    needs: ['nginx', 'OpenSSL'],
    shows: 'no request is hidden in another, on Bun, on Node and behind nginx',
  },
  'serve/': {
    needs: ['processes of POSIX'],
    shows: 'relays start, listen, drain and end as the docs say, on Bun and on Node',
  },
  'stores/acl.': {
    needs: ['Redis', 'Valkey'],
    shows: 'the rights that docs/scaling.md grants suffice',
  },
  'stores/internals.': { needs: ['Redis'], shows: 'what the store in Redis does by itself' },
  'stores/redis.': {
    needs: ['Redis', 'OpenSSL'],
    shows: 'the store keeps its contract in Redis, with Sentinel, in a Cluster and over TLS',
  },
  'stores/sealed.': { needs: ['Redis'], shows: 'nothing in Redis can be read without its secret' },
  'stores/tampered.': { needs: ['Redis'], shows: 'a record of Redis that was changed is refused' },
  'workers/': {
    needs: ['processes of POSIX'],
    shows: 'the Worker keeps the promises of the relay in Durable Objects',
  },
};

/** How the end of `npm test` names a part that is left out. Undefined: nothing is missing. */
export function describeLeftOut({ needs, shows }: Part): string | undefined {
  const missing = needs.filter((need) => !isHere(need));
  return missing.length === 0 ? undefined : `${missing.join(', ')}: ${shows}`;
}

/** Whether this machine can run a part of a file, for `test.if` and `describe.if`. What it cannot run is recorded. */
export function has(needs: Need | readonly Need[], shows: string): boolean {
  const leftOut = describeLeftOut({ needs: [needs].flat(), shows });
  const { RELAY_TEST_LEFT_OUT } = process.env;
  if (RELAY_TEST_LEFT_OUT && leftOut) appendFileSync(RELAY_TEST_LEFT_OUT, `${leftOut}\n`);
  return leftOut === undefined;
}
