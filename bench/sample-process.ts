/**
 * Loaded into a relay by `bun --preload`: writes what only the process itself knows, one
 * JSON line for each sample. Nothing is collected for it, so garbage counts as memory.
 */
import { heapStats } from 'bun:jsc';
import { appendFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

export interface InnerSample {
  readonly heapMegabytes: number;
  readonly timers: number;
  /** The longest since the sample before. */
  readonly loopDelayMs: number;
}

const { BENCH_SAMPLES, BENCH_SAMPLE_MS } = process.env;

if (BENCH_SAMPLES !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  setInterval(() => {
    const { heapSize, extraMemorySize, objectTypeCounts } = heapStats();
    const sample: InnerSample = {
      heapMegabytes: (heapSize + extraMemorySize) / 1e6,
      timers: objectTypeCounts.Timeout ?? 0,
      loopDelayMs: delay.max / 1e6,
    };
    delay.reset();
    appendFileSync(BENCH_SAMPLES, `${JSON.stringify(sample)}\n`);
  }, Number(BENCH_SAMPLE_MS)).unref();
}
