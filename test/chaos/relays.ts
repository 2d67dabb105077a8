/** Three relays on one store, each a process that can be killed and started again where it was. */
import { randomUUID } from 'node:crypto';
import { findFreePort } from '../kit/process.ts';
import { untilFrozen } from '../kit/redis/server.ts';
import { type RelayProcess, startRelay } from '../kit/relay.ts';

export const RELAYS = 3;

export type Relays = Awaited<ReturnType<typeof createRelays>>;

export async function createRelays(env: Readonly<Record<string, string>>) {
  const ports = await Promise.all(Array.from({ length: RELAYS }, findFreePort));
  const processes: (RelayProcess | undefined)[] = [];
  const all: RelayProcess[] = [];
  const settings = {
    REDIS_PREFIX: `chaos-${randomUUID()}:`,
    TRUSTED_PROXY_CIDRS: '127.0.0.1',
    MAX_SESSIONS: '100000',
    LOG_LEVEL: 'info',
    // As `npm start` has it: more exchanges at once than the runtime's default.
    BUN_CONFIG_MAX_HTTP_REQUESTS: '5000',
  };
  let turn = 0;
  async function restart(nth: number): Promise<void> {
    const port = ports[nth];
    if (port === undefined) throw new RangeError(`no relay ${nth}`);
    const relay = await startRelay({ ...settings, ...env }, { port });
    processes[nth] = relay;
    all.push(relay);
  }
  async function end(nth: number, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const relay = processes[nth];
    processes[nth] = undefined;
    await relay?.stop(signal);
  }
  const signal = (nth: number, name: 'SIGSTOP' | 'SIGCONT') =>
    process.kill(processes[nth]?.pid ?? Number.NaN, name);
  await Promise.all(ports.map((_, nth) => restart(nth)));
  return {
    /** The next one in turn that was not ended, as a load balancer finds it. */
    next() {
      do turn = (turn + 1) % RELAYS;
      while (processes[turn] === undefined);
      return { nth: turn, url: `http://127.0.0.1:${ports[turn]}` };
    },
    /** SIGKILL, or SIGTERM, which lets it finish what it has begun. */
    end,
    restart,
    async suspend(nth: number) {
      signal(nth, 'SIGSTOP');
      await untilFrozen(processes[nth]?.pid ?? Number.NaN);
    },
    resume: (nth: number) => void signal(nth, 'SIGCONT'),
    /** What the relays logged as a bug of their own (docs/reference.md "Events"). */
    bugs: () =>
      all.flatMap((relay) =>
        relay
          .events()
          .filter(
            ({ event, level }) => /^(handler|request)_fault$/.test(event) && level === 'error',
          )
          .map((event) => JSON.stringify(event)),
      ),
    async [Symbol.asyncDispose]() {
      await Promise.all(processes.map((_, nth) => end(nth, 'SIGKILL')));
    },
  };
}
