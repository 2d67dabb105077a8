/** Runs the relay until a signal ends the process. */
import { Buffer } from 'node:buffer';
import { setTimeout as sleep } from 'node:timers/promises';
import { DRAIN_FLUSH_MS, IDLE_MARGIN_SECONDS, SIGNAL_ECHO_MS } from '../limits.ts';
import { describeError, log } from '../log.ts';
import { NO_MONITOR } from '../monitor.ts';
import type { Service } from '../service.ts';
import type { Settings } from '../settings/index.ts';
import { systemClock } from '../sign-ins/time.ts';
import { startService } from '../start-service.ts';
import { VERSION } from '../version.ts';
import { listen } from './listen.ts';
import type { Listener, Runtime } from './runtime.ts';

/** Longer than the scrape interval of Prometheus. */
const ADMIN_IDLE_SECONDS = 120;

/** Resolves once the relay listens. A signal or an uncaught error then ends the process. */
export async function serve(settings: Settings, runtime: Runtime): Promise<void> {
  const running: Running = {};
  endOnSignal(running);
  const { name, problem, fetch, fetchesAtOnce } = runtime;
  if (problem !== undefined) log.warning('runtime', { runtime: name, problem });
  // Each is loaded only if it is needed.
  const admin =
    settings.adminPort === undefined
      ? undefined
      : (await import('../admin/admin.ts')).createAdmin(settings, name, systemClock, () =>
          service.readState(),
        );
  const notifier =
    settings.notifyUrl === undefined
      ? undefined
      : (await import('../notify.ts')).createNotifier(settings, fetch, systemClock);
  const monitor = admin?.monitor ?? NO_MONITOR;
  const dependencies = {
    monitor: notifier === undefined ? monitor : notifier.listenTo(monitor),
    clock: systemClock,
    // Bun takes ten times as long for randomBytes of node:crypto.
    randomBytes: (length: number) => crypto.getRandomValues(Buffer.alloc(length)),
    fetch,
    ...(fetchesAtOnce && { fetchesAtOnce }),
  };
  const service = await startService(settings, dependencies);
  running.service = service;
  if (admin !== undefined) {
    const { adminHost: host, adminPort: port = 0 } = settings;
    const options = { handle: admin.handle, idleSeconds: ADMIN_IDLE_SECONDS };
    // Until the process ends, so that a drain can be watched.
    const { url } = await listen(runtime, { host, port }, options, 'ADMIN_');
    log.info('admin_listening', { url });
  }
  const idleSeconds = settings.pollSeconds + IDLE_MARGIN_SECONDS;
  running.listener = await listen(runtime, settings, { handle: service.handle, idleSeconds });
  notifier?.watch(service.readState);
  log.info('listening', {
    url: running.listener.url,
    baseUrl: settings.baseUrl ?? null,
    redirectUris: service.redirectUris(),
    version: VERSION,
    runtime: name,
    ...(runtime.hint && { hint: runtime.hint }),
  });
}

/** What a drain has to stop. Each is absent until it has started. */
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
      // Once the log is written, or after DRAIN_FLUSH_MS, in case nothing reads it.
      process.stdout.write('', () => process.exit(exitCode));
      setTimeout(() => process.exit(exitCode), DRAIN_FLUSH_MS);
    };
    drain(running).then(exit, exit);
  }

  function onSignal(signal: NodeJS.Signals): void {
    const nowMs = performance.now();
    // Under npm one Ctrl-C arrives twice: from the terminal, and passed on by npm.
    if (nowMs - firstSignalAtMs > SIGNAL_ECHO_MS) process.exit(1);
    if (firstSignalAtMs > nowMs) log.info('draining', { signal });
    firstSignalAtMs = Math.min(firstSignalAtMs, nowMs);
    end();
  }

  // Not SIGHUP: a handler would undo `nohup`.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => onSignal(signal));
  for (const stray of ['unhandledRejection', 'uncaughtException'] as const) {
    process.on(stray, (error: unknown) => {
      log.error('unhandled_error', describeError(error));
      exitCode = 1;
      end();
    });
  }
}

/** Responses in progress get DRAIN_FLUSH_MS to be sent, then they are cut off. */
async function drain({ service, listener }: Running): Promise<void> {
  await service?.drain();
  // No new request arrives from here on, so the store's work ends.
  const answered = listener?.stop();
  await service?.settled();
  await Promise.race([answered, sleep(DRAIN_FLUSH_MS)]);
  listener?.cut();
  service?.close();
}
