/** The service in a process: it opens the stores that the settings name, sweeps, and retries discovery. */
import { DISCOVERY_RETRY_MS, REDIS_WAIT_MS } from './limits.ts';
import { log } from './log.ts';
import { type Monitor, NO_MONITOR } from './monitor.ts';
import {
  createDisabledService,
  createService,
  type Service,
  type ServiceDependencies,
  type Stores,
} from './service.ts';
import { type EnabledSettings, isEnabled, type Settings } from './settings/index.ts';
import type { Clock } from './sign-ins/time.ts';
import { createMemoryRefreshStore, createMemoryStore, plainVault } from './stores/memory.ts';
import type { RedisEvent } from './stores/redis/open.ts';

/**
 * A service that is ready for requests: its store is open, and discovery was tried once at
 * each issuer. Rejects when the store cannot be reached.
 */
export async function startService(
  settings: Settings,
  dependencies: ServiceDependencies,
): Promise<Service> {
  if (!isEnabled(settings)) return createDisabledService();
  const stores = await openStores(settings, dependencies);
  const service = startBackgroundTasks(
    createService(settings, dependencies, stores),
    dependencies.clock,
  );
  await service.discover();
  return service;
}

/** How often expired entries are removed. */
export const SWEEP_INTERVAL_MS = 30_000;

/** The same service, which sweeps and discovers periodically until it is closed. */
export function startBackgroundTasks(service: Service, clock: Clock): Service {
  const stopSweeping = repeat(clock, SWEEP_INTERVAL_MS, service.sweep);
  const stopDiscovering = repeat(clock, DISCOVERY_RETRY_MS, service.discover);
  return {
    ...service,
    close() {
      stopSweeping();
      stopDiscovering();
      service.close();
    },
  };
}

/** Ignores failures: the next turn tries again. Returns a function that ends it. */
function repeat(clock: Clock, intervalMs: number, run: () => Promise<void>): () => void {
  let cancelTimer = () => {};
  function later(): void {
    cancelTimer = clock.setTimer(intervalMs, () => {
      run().catch(() => {});
      later();
    });
  }
  later();
  return () => cancelTimer();
}

/** Rejects when the store cannot be reached. */
async function openStores(
  settings: EnabledSettings,
  dependencies: ServiceDependencies,
): Promise<Stores> {
  const { redis, sessionsFile, maxSessions } = settings;
  const { clock, randomBytes, monitor = NO_MONITOR } = dependencies;
  const onEvent = (event: RedisEvent) => reportStoreEvent(event, monitor);
  if (sessionsFile !== undefined) {
    const { openSessionsFile } = await import('./stores/sqlite/file.ts');
    return openSessionsFile({ path: sessionsFile, maxSessions, clock, randomBytes, onEvent });
  }
  if (redis === undefined) {
    return {
      sessions: createMemoryStore(clock, maxSessions),
      vault: plainVault,
      refreshes: createMemoryRefreshStore(clock),
    };
  }
  // Loaded only when needed: the client library is larger than the rest of the relay.
  const { openRedis } = await import('./stores/redis/open.ts');
  return openRedis({
    target: redis.target,
    prefix: redis.prefix,
    waitMs: REDIS_WAIT_MS,
    maxSessions,
    clock,
    randomBytes,
    monitor,
    onEvent,
  });
}

/** A failure stays on the admin page after it has ended, as it may explain failed sign-ins. */
function reportStoreEvent(event: RedisEvent, monitor: Monitor): void {
  const { type, ...fields } = event;
  if (event.type === 'store_accepts' || event.type === 'store_back') {
    log.info(type, fields);
    if (event.type === 'store_accepts') monitor.recovered('store_refuses', event.reason);
    else monitor.recovered('store_lost', undefined);
    return;
  }
  log.warning(type, fields);
  const [hint, reason] =
    event.type === 'store_refuses'
      ? [`${event.reason}: ${event.remedy}`, event.reason]
      : [event.problem];
  monitor.failed({ event: type, service: undefined, signIn: undefined, hint, reason });
}
