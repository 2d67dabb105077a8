/** The data of the admin page: the funnel, the last hour, sessions, failures. */
import { hostname } from 'node:os';
import type { ServiceState } from '../service.ts';
import type { Clock } from '../sign-ins/time.ts';
import { type Counts, ProviderCounts } from './counts.ts';
import type { Recent } from './recent.ts';

export type Status = Awaited<ReturnType<ReturnType<typeof createStatus>>>;
export type Funnel = Status['funnels'][number];

/** What does not change while the process runs. */
export interface Facts {
  readonly clock: Clock;
  /** Every enabled provider, with the name that users see. */
  readonly services: readonly { readonly name: string; readonly displayName: string }[];
  readonly maxSessions: number;
  /** Such as `Bun 1.4.5`. */
  readonly runtime: string;
  /** Several relays share the sessions: each counts only what it does. */
  readonly isShared: boolean;
}

const NONE = new ProviderCounts();

export function createStatus(
  { clock, services, maxSessions, runtime, isShared }: Facts,
  counts: Counts,
  recent: Recent,
  readState: () => Promise<ServiceState>,
) {
  const startedAtMs = clock.now();

  /** One provider's sign-ins since the process started. */
  function readFunnel({ name, displayName }: (typeof services)[number]) {
    const own = counts.providers.get(name) ?? NONE;
    const expired = [...own.expired.values()].reduce((sum, count) => sum + count, 0);
    return { service: name, displayName, own, expired };
  }

  return async () => ({
    ...(await readState()),
    nowMs: clock.now(),
    upSeconds: Math.round((clock.now() - startedAtMs) / 1_000),
    maxSessions,
    runtime,
    hostname: hostname(),
    isShared,
    funnels: services.map(readFunnel),
    hour: recent.readHour(),
    failures: recent.readFailures(),
  });
}
