/** Runs the relay until a signal ends the process. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { DRAIN_FLUSH_MS, IDLE_MARGIN_SECONDS, SIGNAL_ECHO_MS } from './limits.ts';
import { type Listener, listen, loadRuntime } from './listen.ts';
import { describeError, log } from './log.ts';
import { systemClock } from './relay/time.ts';
import { type Service, startService } from './service.ts';
import type { Settings } from './settings/index.ts';

/** Resolves once the relay listens. A signal or an uncaught error then ends the process. */
export async function serve(settings: Settings): Promise<void> {
  const running: Running = {};
  endOnSignal(running);
  const runtime = await loadRuntime();
  const { fetch, fetchesAtOnce } = runtime;
  const world = { clock: systemClock, randomBytes, fetch, ...(fetchesAtOnce && { fetchesAtOnce }) };
  const service = await startService(settings, world);
  running.service = service;
  running.listener = await listen(runtime, settings, {
    handle: service.handle,
    idleSeconds: settings.pollSeconds + IDLE_MARGIN_SECONDS,
  });
  log.info('listening', {
    url: running.listener.url,
    baseUrl: settings.baseUrl ?? null,
    redirectUris: service.redirectUris(),
  });
}

/** What a drain has to stop, as far as it has started. */
interface Running {
  service?: Service;
  listener?: Listener;
}

/**
 * The first signal drains, the second ends the process at once. An uncaught error
 * drains too, because the state after it is unknown. The exit code is then 1.
 */
function endOnSignal(running: Running): void {
  let exitCode = 0;
  let ending = false;
  let firstSignalAtMs = Number.POSITIVE_INFINITY;

  function end(): void {
    if (ending) return;
    ending = true;
    const exit = () => {
      log.info('stopped');
      // Exits once the log is written, or after DRAIN_FLUSH_MS, because nobody may read the log.
      process.stdout.write('', () => process.exit(exitCode));
      setTimeout(() => process.exit(exitCode), DRAIN_FLUSH_MS);
    };
    drain(running).then(exit, exit);
  }

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      const nowMs = performance.now();
      // Under npm one Ctrl-C arrives twice: from the terminal, and passed on by npm.
      if (nowMs - firstSignalAtMs > SIGNAL_ECHO_MS) process.exit(1);
      if (firstSignalAtMs > nowMs) log.info('draining', { signal });
      firstSignalAtMs = Math.min(firstSignalAtMs, nowMs);
      end();
    });
  }
  for (const stray of ['unhandledRejection', 'uncaughtException'] as const) {
    process.on(stray, (error: unknown) => {
      log.error('stray_error', describeError(error));
      exitCode = 1;
      end();
    });
  }
}

/** Responses in progress are sent; whatever still hangs after that is cut off. */
async function drain({ service, listener }: Running): Promise<void> {
  await service?.drain();
  // No new request from here on, so the store's work comes to an end.
  const answered = listener?.stop();
  await service?.settled();
  await Promise.race([answered, sleep(DRAIN_FLUSH_MS)]);
  listener?.cut();
  service?.close();
}
