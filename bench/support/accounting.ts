/** What the operating system says that a process has used. Linux with glibc. */
import { dlopen, ptr } from 'bun:ffi';
import { readFileSync } from 'node:fs';

/** In nanoseconds, where /proc counts hundredths of a second. */
const { symbols: libc } = dlopen('libc.so.6', {
  clock_getcpuclockid: { args: ['int', 'ptr'], returns: 'int' },
  clock_gettime: { args: ['int', 'ptr'], returns: 'int' },
});

/** User and system time of a process since its start: all threads, those that have ended too. */
export function cpuMicroseconds(pid: number): number {
  const clock = new Int32Array(1);
  const time = new BigInt64Array(2);
  const failed =
    libc.clock_getcpuclockid(pid, ptr(clock)) || libc.clock_gettime(clock[0] ?? 0, ptr(time));
  if (failed) throw new Error(`process ${pid} has no clock: has it ended?`);
  const [seconds = 0n, nanoseconds = 0n] = time;
  return Number(seconds) * 1_000_000 + Number(nanoseconds) / 1_000;
}

/** Microseconds of each process for one of `count`, and what `work` came to. */
export async function measureCpu<T>(
  pids: readonly number[],
  count: number,
  work: () => Promise<T>,
): Promise<{ readonly cpu: readonly number[]; readonly result: T }> {
  const before = pids.map(cpuMicroseconds);
  const result = await work();
  const cpu = pids.map((pid, index) => (cpuMicroseconds(pid) - (before[index] ?? 0)) / count);
  return { cpu, result };
}

/** As `measureCpu`, of the processes together. */
export async function cpuOfEach<T>(
  pids: readonly number[],
  count: number,
  work: () => Promise<T>,
): Promise<{ readonly each: number; readonly result: T }> {
  const { cpu, result } = await measureCpu(pids, count, work);
  return { each: cpu.reduce((sum, each) => sum + each, 0), result };
}

const SETTLE_STEP_MS = 500;
const SETTLED_MEGABYTES = 0.5;

/** Resident set once it no longer changes, or after `longestMs`. Megabytes of 10^6 bytes. */
export async function settledMegabytes(
  pids: readonly number[],
  longestMs: number,
): Promise<number> {
  const endMs = performance.now() + longestMs;
  const recent: number[] = [];
  for (;;) {
    recent.unshift(residentMegabytes(pids));
    const last = recent.slice(0, 4);
    const isSettled =
      last.length === 4 && Math.max(...last) - Math.min(...last) < SETTLED_MEGABYTES;
    if (isSettled || performance.now() > endMs) return recent[0] ?? Number.NaN;
    await Bun.sleep(SETTLE_STEP_MS);
  }
}

/** Of all of them together, now. Megabytes of 10^6 bytes. */
export function residentMegabytes(pids: readonly number[]): number {
  return pids.reduce((total, pid) => total + residentOf(pid), 0);
}

function residentOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return (Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024) / 1_000_000;
}
