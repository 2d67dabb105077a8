/** A process of redis-server that can be killed, started again where it was, and frozen. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { atExit } from './at-exit.ts';
import { runRedisCli } from './redis-cli.ts';
import { addressOf, cliArgsOf, type Login, type Place } from './redis-place.ts';
import { type RedisProcess, startRedisProcess, untilFrozen } from './redis-process.ts';

export interface RedisServer {
  /** As `REDIS_URL` would say it, with the user that was asked for. */
  readonly url: string;
  /** The same place for the default user, who may do everything. */
  readonly adminUrl: string;
  readonly adminPassword: string;
  /** 0 on a unix socket. */
  readonly port: number;
  /** Another one after each restart. */
  readonly pid: number;
  /** All that it writes is here. */
  readonly folder: string;
  /** The CA to trust, when it speaks TLS. */
  readonly caFile: string | undefined;
  /** Neither killed nor frozen. */
  isAnswering(): boolean;
  /** Resolves when the process has ended. */
  kill(signal?: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** Starts it on the same port, killed or not. It comes back empty unless it was told to persist. */
  restart(): Promise<void>;
  /** It keeps its connections and the kernel takes new ones, but nothing is answered: SIGSTOP. */
  freeze(): Promise<void>;
  thaw(): void;
  /** What redis-cli prints, run as the default user. Rejects when Redis answers with an error. */
  cli(...args: readonly (string | number)[]): Promise<string>;
  /** Ends the process and removes the folder. */
  stop(): Promise<void>;
}

/** All that is fixed before it starts. */
export interface ServerPlan {
  readonly program: string;
  readonly place: Place;
  readonly config: readonly string[];
  /** After the name of the configuration file. */
  readonly args: readonly string[];
  /** What goes into the address. */
  readonly login: Login;
  readonly adminPassword: string;
}

/** Resolves when it answers PING. */
export async function launchServer(plan: ServerPlan): Promise<RedisServer> {
  const { folder } = plan.place;
  const removeFolder = () => rmSync(folder, { recursive: true, force: true });
  const callOff = atExit(removeFolder);
  function cleanUp(): void {
    callOff();
    removeFolder();
  }
  // A file, not arguments: a failover is written into it, as in production.
  const configFile = join(folder, 'redis.conf');
  writeFileSync(configFile, `${plan.config.join('\n')}\n`);
  const start = () => startRedisProcess(plan.program, [configFile, ...plan.args]);
  try {
    const server = createServer(plan, await start(), start, cleanUp);
    await server.cli('PING');
    return server;
  } catch (error) {
    cleanUp();
    throw error;
  }
}

function createServer(
  { place, login, adminPassword }: ServerPlan,
  first: RedisProcess,
  start: () => Promise<RedisProcess>,
  cleanUp: () => void,
): RedisServer {
  let current = first;
  let frozen = false;
  async function kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    current.signal(signal);
    thaw(); // a frozen process heeds no SIGTERM
    await current.exited;
  }
  function thaw(): void {
    current.signal('SIGCONT');
    frozen = false;
  }
  return {
    url: addressOf(place, login),
    adminUrl: addressOf(place, { password: adminPassword }),
    adminPassword,
    port: place.port,
    folder: place.folder,
    caFile: place.certificate?.caFile,
    get pid() {
      return current.pid;
    },
    isAnswering: () => current.isRunning() && !frozen,
    kill,
    thaw,
    async restart() {
      await kill();
      current = await start();
    },
    async freeze() {
      frozen = true;
      current.signal('SIGSTOP');
      await untilFrozen(current.pid);
    },
    cli: (...args) => runRedisCli([...cliArgsOf(place), ...args.map(String)], adminPassword),
    async stop() {
      await kill();
      cleanUp();
    },
  };
}
