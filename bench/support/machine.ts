/** What it was measured on. */
import { arch, availableParallelism, cpus, release, totalmem } from 'node:os';
import { isPinned } from './processes.ts';

export function describeMachine(): Readonly<Record<string, string>> {
  return {
    processor: cpus()[0]?.model ?? 'unknown',
    cores: String(availableParallelism()),
    memory: `${Math.round(totalmem() / 1e9)} GB`,
    system: `Linux ${release()} ${arch()}`,
    bun: Bun.version,
    redis: redisVersion(),
    pinned: isPinned() ? 'relays and floor to the first core, all else to the last' : 'no',
  };
}

function redisVersion(): string {
  if (Bun.which('redis-server') === null) return 'none';
  const said = Bun.spawnSync(['redis-server', '--version']).stdout.toString();
  return /v=(\S+)/.exec(said)?.[1] ?? 'unknown';
}
