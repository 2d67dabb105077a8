/** What it was measured on. */
import { arch, availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';
import { isPinned } from './processes.ts';

export function describeMachine(): Readonly<Record<string, string>> {
  return {
    processor: cpus()[0]?.model ?? 'unknown',
    cores: String(availableParallelism()),
    memory: `${Math.round(totalmem() / 1e9)} GB`,
    system: `Linux ${release()} ${arch()}`,
    bun: Bun.version,
    redis: redisVersion(),
    // Of the minute before: above 0.2 somebody else is at work, and the figures are noisy.
    load: (loadavg()[0] ?? 0).toFixed(2),
    pinned: isPinned() ? 'relays and floor to the first core, all else to the last' : 'no',
  };
}

function redisVersion(): string {
  if (Bun.which('redis-server') === null) return 'none';
  const said = Bun.spawnSync(['redis-server', '--version']).stdout.toString();
  return /v=(\S+)/.exec(said)?.[1] ?? 'unknown';
}
