/** What the operating system says that a process has used. Linux. */
import { readFileSync } from 'node:fs';

/** Clock ticks are hundredths of a second on every Linux that Bun runs on. */
const MICROSECONDS_PER_TICK = 10_000;

/** User and system time of a process since its start, all threads. */
export function cpuMicroseconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name in brackets may hold blanks; utime and stime are fields 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * MICROSECONDS_PER_TICK;
}

/** Microseconds of each process while `work` runs. */
export async function measureCpu(
  pids: readonly number[],
  work: () => Promise<unknown>,
): Promise<number[]> {
  const before = pids.map(cpuMicroseconds);
  await work();
  return pids.map((pid, index) => cpuMicroseconds(pid) - (before[index] ?? 0));
}
