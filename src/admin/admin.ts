/**
 * The admin port: metrics for Prometheus, and a page for the operator. Loaded only with
 * ADMIN_PORT. It needs no password, because it shows no secret; it listens on loopback
 * unless ADMIN_HOST is set. docs/operating.md "The admin port".
 */
import { isIP } from 'node:net';
import { createApp, type HandleRequest, type Handler } from '../http/app.ts';
import { textResponse } from '../http/responses.ts';
import type { Monitor } from '../monitor.ts';
import type { Clock } from '../relay/time.ts';
import type { ServiceState } from '../service.ts';
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
  /** Host names that requests may use, besides IP addresses and names without a dot. */
  readonly names: readonly string[];
}

export interface Admin {
  /** Counts the relay's events. */
  readonly monitor: Monitor;
  /** Shows the state of this service. */
  watch(readState: () => Promise<ServiceState>): void;
  readonly handle: HandleRequest;
}

/** Until the service has started. */
const STARTING: ServiceState = { liveSessions: undefined, parkedPolls: 0, unreadiness: 'starting' };

export function createAdmin({ clock, services, maxSessions, names }: AdminOptions): Admin {
  let readNow = async () => STARTING;
  const readState = () => readNow();
  const counts = createCounts(services.map(({ name }) => name));
  const recent = createRecent(clock);
  const known = names.map((name) => name.toLowerCase());
  const readStatus = createStatus({ clock, services, maxSessions, counts, recent, readState });

  const show = (method: Handler) => ({ GET: method, HEAD: method });
  const page = (render: (status: Awaited<ReturnType<typeof readStatus>>) => string) =>
    show(async () => new Response(render(await readStatus()), { headers: PAGE_HEADERS }));
  const app = createApp(
    [
      { path: '/', methods: page(renderWholePage) },
      { path: '/now', methods: page(renderNow) },
      { path: '/metrics', methods: show(metricsResponse) },
      { path: '/*', respond: () => textResponse(404, 'Not found: try / or /metrics') },
    ],
    { cors: undefined, basePath: '' },
  );

  async function metricsResponse(): Promise<Response> {
    return new Response(writeMetrics(counts, maxSessions, await readState()), {
      headers: { 'Content-Type': METRICS_CONTENT_TYPE, 'Cache-Control': 'no-store' },
    });
  }

  return {
    monitor: {
      ...counts.monitor,
      ended(service, outcome) {
        counts.monitor.ended(service, outcome);
        recent.ended(service, outcome);
      },
      failed: recent.failed,
    },

    watch(readState) {
      readNow = readState;
    },

    handle: (request, peers) =>
      isAllowedHost(request.headers.get('host') ?? '', known)
        ? app(request, peers)
        : textResponse(421, 'Use the IP address, or list this name in ADMIN_NAMES'),
  };
}

/**
 * Any website can point its own name at this machine, and then read the responses (DNS
 * rebinding). That is impossible with an IP address and with a name without a dot, which
 * cannot be registered.
 */
function isAllowedHost(host: string, known: readonly string[]): boolean {
  const name = host.toLowerCase().replace(/:\d*$/, '');
  const isAddress = isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0;
  return isAddress || !name.includes('.') || known.includes(name);
}
