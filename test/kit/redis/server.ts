/** A real Redis or Valkey on the loopback that can be killed, restarted where it was, and frozen. */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { endWithFile } from '../cleanup.ts';
import { newFolder } from '../folder.ts';
import { type Child, findFreePort, startChild } from '../process.ts';
import { type CertificateFiles, writeCertificate } from '../tls.ts';
import { pollUntil } from '../wait.ts';

export interface RedisOptions {
  /** Not given: Redis. */
  readonly program?: 'valkey-server';
  /** The password of the default user. */
  readonly password?: string;
  /** An ACL user, whose name and password are in `url`. If there are no rules, it may do everything. */
  readonly user?: { readonly name: string; readonly password: string; readonly rules?: string };
  /** TLS alone, with a certificate for 127.0.0.1 that the test must trust. */
  readonly tls?: boolean;
  /** Further arguments of redis-server, `['--appendonly', 'yes']`. */
  readonly args?: readonly string[];
}

export type RedisServer = Awaited<ReturnType<typeof launchServer>>;

/** The password of the default user, where the relay has a user of its own. The same on every node of a Cluster. */
export const ADMIN_PASSWORD = crypto.randomUUID();

/**
 * Dumps are not compressed, or a secret in them could not be found. A replica
 * starts at once and keeps no dump, so a restarted server is empty.
 */
const ALWAYS = [
  'save ""',
  'appendonly no',
  'rdbcompression no',
  'rdb-del-sync-files yes',
  'repl-diskless-sync-delay 0',
];

/** Resolves when it answers. It keeps nothing on disk unless `args` say so. */
export function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const { user, args = [] } = options;
  const adminPassword = options.password ?? (user ? ADMIN_PASSWORD : '');
  const config = [...ALWAYS];
  if (adminPassword !== '') {
    const quoted = JSON.stringify(adminPassword);
    config.push(`requirepass ${quoted}`, `masterauth ${quoted}`);
  }
  if (user) {
    const rules = user.rules ?? '~* &* +@all';
    config.push(`user ${user.name} on ${JSON.stringify(`>${user.password}`)} ${rules}`);
  }
  return launchServer({ ...options, config, args, adminPassword });
}

interface LaunchOptions extends Pick<RedisOptions, 'program' | 'tls' | 'user'> {
  /** Lines of redis.conf, besides where it listens. */
  readonly config: readonly string[];
  readonly args: readonly string[];
  readonly adminPassword: string;
}

/** A server or a sentinel. Resolves when it answers. */
export async function launchServer(options: LaunchOptions) {
  const { program = 'redis-server', user, adminPassword } = options;
  const port = await findFreePort();
  const folder = newFolder();
  const tls = options.tls ? await writeCertificate(folder) : undefined;
  // A file rather than arguments: a failover is written into it, as in production.
  const configFile = join(folder, 'redis.conf');
  writeFileSync(configFile, [...listenLines(port, folder, tls), ...options.config, ''].join('\n'));
  const start = () => startProcess([program, configFile, ...options.args]);
  let current = await start();
  let isFrozen = false;
  async function kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    current.kill(signal);
    thaw(); // A suspended process does not react to SIGTERM.
    await current.exited;
  }
  function thaw(): void {
    current.kill('SIGCONT');
    isFrozen = false;
  }
  const login = loginOf(user?.password ?? adminPassword, user?.name);
  const stop = () => kill();
  endWithFile(stop);
  /** What redis-cli prints, run as the default user. Rejects when Redis answers with an error. */
  const trust = tls ? ['--tls', '--cacert', tls.certificateFile] : [];
  const cli = (...args: readonly (string | number)[]) =>
    runRedisCli(['-p', `${port}`, ...trust, ...args.map(String)], adminPassword);

  return {
    /** As `REDIS_URL` has it, with the user that was asked for. */
    url: `${tls ? 'rediss' : 'redis'}://${login}127.0.0.1:${port}`,
    adminPassword,
    port,
    /** All that the server writes is here. */
    folder,
    /** The certificate to trust, if the server speaks TLS. */
    caFile: tls?.certificateFile,
    /** A new one after each restart. */
    get pid() {
      return current.pid;
    },
    /** Neither killed nor frozen. */
    isAnswering: () => current.isRunning() && !isFrozen,
    /** Resolves when the process has ended. */
    kill,
    thaw,
    cli,
    /** The same, as redis-cli writes it in JSON. */
    json: async (...args: readonly string[]) => JSON.parse(await cli('--json', ...args)),
    stop,
    [Symbol.asyncDispose]: stop,
    /** On the same port, killed or not. It is empty then, unless its arguments make it persist. */
    async restart() {
      await kill();
      current = await start();
    },
    /** SIGSTOP: connections stay open and the kernel accepts new ones, but nothing is answered. */
    async freeze() {
      isFrozen = true;
      current.kill('SIGSTOP');
      await untilFrozen(current.pid);
    },
    /** The keys that match. */
    keys: async (pattern: string) => (await cli('KEYS', pattern)).split('\n').filter(Boolean),
  };
}

function listenLines(port: number, folder: string, tls: CertificateFiles | undefined): string[] {
  const common = ['bind 127.0.0.1', 'protected-mode no', `dir ${folder}`];
  if (tls === undefined) return [...common, `port ${port}`];
  return [
    ...common,
    'port 0',
    `tls-port ${port}`,
    `tls-cert-file ${tls.certificateFile}`,
    `tls-key-file ${tls.keyFile}`,
    `tls-ca-cert-file ${tls.certificateFile}`,
    'tls-auth-clients no',
  ];
}

/** What precedes the host in an address. */
export function loginOf(password: string, name = ''): string {
  return password === '' ? '' : `${encodeURIComponent(name)}:${encodeURIComponent(password)}@`;
}

const IS_READY = /ready to accept connections|Sentinel ID is/i;

/** Resolves once it accepts connections; rejects with its output if it ends before that. */
async function startProcess(command: readonly string[]): Promise<Child> {
  const ready = Promise.withResolvers<void>();
  const child = startChild(command, {
    env: { LC_ALL: 'C' },
    onLine: (line) => {
      if (IS_READY.test(line)) ready.resolve();
    },
  });
  await Promise.race([ready.promise, child.exited.then(fail)]);
  return child;

  function fail(): never {
    throw new Error(`${command[0]} ended. Its output:\n${child.output()}`);
  }
}

/** A signal only asks for it: resolves when the process is suspended. */
export function untilFrozen(pid: number): Promise<unknown> {
  return pollUntil(`process ${pid} is suspended`, () => {
    const state = /\) (\S)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1];
    return state === 'T';
  });
}

/** A frozen server never answers. */
const CLI_TIMEOUT_MS = 10_000;
const MAX_OUTPUT_BYTES = 64 * 1_024 * 1_024;

async function runRedisCli(args: readonly string[], password: string): Promise<string> {
  // -e: an error is an exit code, not a text that looks like an answer.
  const { stdout } = await promisify(execFile)('redis-cli', ['-e', '-h', '127.0.0.1', ...args], {
    env: { PATH: process.env.PATH ?? '', ...(password !== '' && { REDISCLI_AUTH: password }) },
    timeout: CLI_TIMEOUT_MS,
    maxBuffer: MAX_OUTPUT_BYTES,
  });
  return stdout.replace(/\n$/, '');
}
