/**
 * The Durable Object: the whole service, over stores on the object's own SQLite. A parked poll
 * waits here. An object without requests has no timer, so it costs nothing.
 */
import {
  DurableObject,
  type DurableObjectNamespace,
  type DurableObjectState,
} from 'cloudflare:workers';
import { randomBytes } from 'node:crypto';
import type { Addresses } from '../http/request.ts';
import { DISCOVERY_RETRY_MS, MAX_PARKED_POLLS_OF_OBJECT } from '../limits.ts';
import { describeError, log } from '../log.ts';
import { createService, type Service, type ServiceDependencies } from '../service.ts';
import { type EnabledSettings, isEnabled } from '../settings/index.ts';
import type { StoreProblem } from '../sign-ins/store.ts';
import { systemClock } from '../sign-ins/time.ts';
import { openSqliteStores, type SqliteStores } from '../stores/sqlite/open.ts';
import { readWorkerSettings } from './settings.ts';

export interface Env {
  readonly RELAY: DurableObjectNamespace<RelayObject>;
}

export const DEPENDENCIES: ServiceDependencies = {
  clock: systemClock,
  randomBytes,
  fetch: (url, init) => fetch(url, init).catch(throwWithCode),
  maxParkedPolls: MAX_PARKED_POLLS_OF_OBJECT,
};

/** The runtime's errors have no code. `retryable`: the connection was lost, or there was none. */
function throwWithCode(error: Error & { readonly retryable?: boolean }): never {
  throw error.retryable ? Object.assign(error, { code: 'ECONNRESET' }) : error;
}

/** Cloudflare sets it, and no client can. */
const ADDRESS_HEADER = 'cf-connecting-ip';

export const ADDRESSES: Addresses = {
  requestIP(request) {
    const address = request.headers.get(ADDRESS_HEADER);
    return address === null ? null : { address };
  },
};

/** Coalesces alarms: one alarm removes all that expires within this time. */
const SWEEP_DELAY_MS = 60_000;

export class RelayObject extends DurableObject<Env> {
  readonly #stores: SqliteStores;
  readonly #service: Service;
  #firstDiscovery: Promise<void> | undefined;
  #discoveredAtMs = Number.NEGATIVE_INFINITY;
  /** When the alarm is set for, as far as this process knows. */
  #alarmAtMs = Number.POSITIVE_INFINITY;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const settings = requireSettings(env);
    this.#stores = openSqliteStores({
      sql: ctx.storage.sql,
      clock: systemClock,
      randomBytes,
      maxSessions: settings.maxSessions,
      onWrite: (untilMs) => this.#wakeAt(untilMs),
      onProblem: logProblem,
    });
    const { sessions, vault, refreshes, findProblem } = this.#stores;
    this.#service = createService(settings, DEPENDENCIES, {
      sessions,
      vault,
      refreshes,
      findProblem: () => describeProblem(findProblem()),
    });
  }

  async fetch(request: Request): Promise<Response> {
    await this.#discover();
    return this.#service.handle(request, ADDRESSES);
  }

  /** The first run resolves it. Later ones are for issuers that failed, and no request waits for them. */
  #discover(): Promise<void> | undefined {
    const nowMs = systemClock.now();
    if (nowMs - this.#discoveredAtMs >= DISCOVERY_RETRY_MS) {
      this.#discoveredAtMs = nowMs;
      const run = this.#service
        .discover()
        .catch((error: unknown) => log.error('unhandled_error', describeError(error)));
      this.#firstDiscovery ??= run;
    }
    return this.#firstDiscovery;
  }

  /** If it rejects, Cloudflare runs it again later. */
  async alarm(): Promise<void> {
    this.#alarmAtMs = Number.POSITIVE_INFINITY;
    await this.#service.sweep();
    const nextMs = this.#stores.findNextSweep();
    if (nextMs !== undefined) this.#wakeAt(nextMs);
  }

  /** Sets an alarm, unless there is an earlier one. Each costs a row and a request. */
  #wakeAt(untilMs: number): void {
    const atMs = Math.max(untilMs, systemClock.now()) + SWEEP_DELAY_MS;
    if (this.#alarmAtMs <= atMs) return;
    this.#alarmAtMs = atMs;
    const { storage } = this.ctx;
    const set = async () => {
      const setAtMs = await storage.getAlarm();
      if (setAtMs === null || setAtMs > atMs) await storage.setAlarm(atMs);
    };
    // If this fails, the rows stay until the next alarm. Lookups check expiry themselves.
    set().catch(() => {
      this.#alarmAtMs = Number.POSITIVE_INFINITY;
    });
  }
}

/** Throws if they are wrong, or have no base URL. The Worker passes no request on then. */
function requireSettings(env: Env): EnabledSettings {
  const { settings } = readWorkerSettings(env);
  if (settings === undefined || !isEnabled(settings)) throw new Error('the settings are wrong');
  return settings;
}

const STORAGE_REMEDY = 'the account may have reached a limit of its plan: see its dashboard';

function logProblem(reason: string, hasEnded: boolean): void {
  if (hasEnded) log.info('store_accepts', { reason });
  else log.warning('store_refuses', { reason, remedy: STORAGE_REMEDY });
}

function describeProblem(code: string | undefined): StoreProblem | undefined {
  if (code === undefined) return undefined;
  return { status: 'down', reason: `store: the object's storage refuses (${code})` };
}
