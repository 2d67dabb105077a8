/**
 * The admin port: metrics for Prometheus, and a page to look at. Loaded only with
 * ADMIN_PORT. Nothing here needs a password and nothing here is secret; still it is on
 * loopback unless ADMIN_HOST says otherwise. docs/operating.md "The admin port".
 */
import type { Monitor } from '../monitor.ts';
import type { Clock } from '../relay/time.ts';
import type { Present } from '../service.ts';
import { createCounts } from './counts.ts';
import { METRICS_CONTENT_TYPE, writeMetrics } from './metrics.ts';
import { PAGE_HEADERS, renderNow, renderWholePage } from './page.tsx';
import { createRecent } from './recent.ts';
import { createStatus } from './status.ts';

export interface AdminOptions {
  readonly clock: Clock;
  /** Every enabled provider, with the name that users see. */
  readonly services: readonly { readonly name: string; readonly displayName: string }[];
  readonly maxSessions: number;
}

export interface Admin {
  /** To be told of everything that happens. */
  readonly monitor: Monitor;
  /** From now on the present is read here. */
  watch(readPresent: () => Promise<Present>): void;
  handle(request: Request): Promise<Response>;
}

/** Until the service has started. */
const STARTING: Present = { liveSessions: undefined, parkedPolls: 0, unreadiness: 'starting' };

export function createAdmin({ clock, services, maxSessions }: AdminOptions): Admin {
  let readNow = async () => STARTING;
  const readPresent = () => readNow();
  const counts = createCounts(services.map(({ name }) => name));
  const recent = createRecent(clock);
  const readStatus = createStatus({ clock, services, maxSessions, counts, recent, readPresent });

  return {
    monitor: {
      ...counts.monitor,
      ended(service, outcome) {
        counts.monitor.ended(service, outcome);
        recent.ended(service, outcome);
      },
      failed: recent.failed,
    },

    watch(readPresent) {
      readNow = readPresent;
    },

    async handle(request) {
      if (request.method !== 'GET' && request.method !== 'HEAD') return text(405, 'GET alone');
      switch (new URL(request.url).pathname) {
        case '/':
          return new Response(renderWholePage(await readStatus()), { headers: PAGE_HEADERS });
        case '/now':
          return new Response(renderNow(await readStatus()), { headers: PAGE_HEADERS });
        case '/metrics':
          return new Response(writeMetrics(counts, maxSessions, await readPresent()), {
            headers: { 'Content-Type': METRICS_CONTENT_TYPE, 'Cache-Control': 'no-store' },
          });
        default:
          return text(404, 'There are / and /metrics');
      }
    },
  };
}

function text(status: number, message: string): Response {
  return new Response(`${message}\n`, { status, headers: { 'Content-Type': 'text/plain' } });
}
