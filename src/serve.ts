/** Listens with Bun.serve until a signal ends the process. The only file that uses Bun. */
import { randomBytes } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import type { Admin } from './admin/admin.ts';
import { refuse } from './http/responses.ts';
import {
  DRAIN_FLUSH_MS,
  IDLE_MARGIN_SECONDS,
  MAX_IDLE_SECONDS,
  REQUEST_BODY_BYTES,
  SIGNAL_ECHO_MS,
} from './limits.ts';
import { describeError, log } from './log.ts';
import type { Fetch } from './providers/token-endpoint.ts';
import { systemClock } from './relay/time.ts';
import { listInOrder, type Service, startService } from './service.ts';
import type { Settings } from './settings/index.ts';

/** Resolves once the relay listens. A signal or an uncaught error then ends the process. */
export async function serve(settings: Settings): Promise<void> {
  const running: Running = {};
  endOnSignal(running);
  const admin = await createAdminOf(settings);
  const world = {
    ...(admin !== undefined && { monitor: admin.monitor }),
    clock: systemClock,
    randomBytes,
    fetch: fetchUpstream,
    fetchesAtOnce: readFetchesAtOnce(),
  };
  running.service = await startService(settings, world);
  const { service } = running;
  if (admin !== undefined) {
    admin.watch(service.readPresent);
    await listenForAdmin(settings, admin);
  }
  running.server = await listen(settings.host, (address) => listenOn(address, settings, service));
  log.info('listening', {
    url: running.server.url.origin,
    baseUrl: settings.baseUrl ?? null,
    redirectUris: running.service.redirectUris(),
  });
}

/** What a drain has to stop, as far as it has started. */
interface Running {
  service?: Service;
  server?: Bun.Server<unknown>;
}

/**
 * Listens on the first address that this machine has. An address that another
 * program has taken is an error: the runtime alone would skip it and listen on the
 * next, and two programs would share the port.
 */
async function listen(
  host: string | undefined,
  listenAt: (address: string) => Bun.Server<unknown>,
): Promise<Bun.Server<unknown>> {
  const addresses = await addressesOf(host);
  const last = addresses.pop() ?? '';
  for (const address of addresses) {
    try {
      return listenAt(address);
    } catch (error) {
      if (!isMissingAddress(error)) throw error;
    }
  }
  return listenAt(last);
}

/** Undefined without ADMIN_PORT: then nothing of it is loaded. */
async function createAdminOf(settings: Settings) {
  if (settings.adminPort === undefined) return undefined;
  const { createAdmin } = await import('./admin/admin.ts');
  const { maxSessions } = settings;
  return createAdmin({ clock: systemClock, services: listInOrder(settings), maxSessions });
}

/** Stays until the process ends, so that a drain can be watched. */
async function listenForAdmin({ adminHost, adminPort = 0 }: Settings, admin: Admin) {
  const options = {
    port: adminPort,
    reusePort: false,
    development: false,
    fetch: admin.handle,
    error(error: Error) {
      log.error('request_fault', describeError(error));
      return refuse('busy');
    },
  };
  try {
    const server = await listen(adminHost, (hostname) => Bun.serve({ ...options, hostname }));
    log.info('admin_listening', { url: server.url.origin });
  } catch (error) {
    throw new AdminPortError('the admin port', { cause: error });
  }
}

/** The cause is why it cannot listen. */
export class AdminPortError extends Error {
  override readonly name = 'AdminPortError';
}

/** `::` accepts IPv4 too. A machine without IPv6 has only `0.0.0.0`. */
async function addressesOf(host: string | undefined): Promise<string[]> {
  if (host === undefined) return ['::', '0.0.0.0'];
  const found = await lookup(host, { all: true });
  return found.map(({ address }) => address);
}

/** Such as `::1` for `localhost` on a machine without IPv6. */
function isMissingAddress(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT';
}

function listenOn(hostname: string, settings: Settings, service: Service) {
  return Bun.serve({
    hostname,
    port: settings.port,
    // Outside development Bun sets SO_REUSEPORT, with which two relays share a port unnoticed.
    reusePort: false,
    // Longer than a poll is held, and than the 60 s after which balancers give up on an
    // idle connection. Never 0, which would keep dead connections for ever.
    idleTimeout: Math.min(settings.pollSeconds + IDLE_MARGIN_SECONDS, MAX_IDLE_SECONDS),
    maxRequestBodySize: REQUEST_BODY_BYTES,
    // In development Bun's error page would show the error to the client.
    development: false,
    fetch: service.handle,
    error(error) {
      log.error('request_fault', describeError(error));
      return refuse('busy');
    },
  });
}

/** Checks certificates whatever the environment says. Neither decompresses nor prints anything. */
export const fetchUpstream: Fetch = (url, init) =>
  fetch(url, {
    ...init,
    decompress: false,
    verbose: false,
    tls: { rejectUnauthorized: true },
  });

/** Bun reads the variable when the process starts, so it cannot be set from here. */
function readFetchesAtOnce(): number {
  return Number(process.env.BUN_CONFIG_MAX_HTTP_REQUESTS) || BUN_FETCHES_AT_ONCE;
}

/** Bun's default. */
const BUN_FETCHES_AT_ONCE = 256;

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
async function drain({ service, server }: Running): Promise<void> {
  await service?.drain();
  // No new request from here on, so the store's work comes to an end.
  const answered = server?.stop();
  await service?.settled();
  await Promise.race([answered, Bun.sleep(DRAIN_FLUSH_MS)]);
  // Not awaited: while half a body is missing it never resolves (Bun 1.4.5).
  server?.stop(true).catch(() => {});
  service?.close();
}
