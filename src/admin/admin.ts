/**
 * The admin port: metrics for Prometheus, and a page for the operator. Loaded only with
 * ADMIN_PORT. It shows no secret. It listens on loopback unless ADMIN_HOST is set, and
 * requires ADMIN_TOKEN if that is set. docs/operating.md "The admin port".
 */
import { hash, timingSafeEqual } from 'node:crypto';
import { auth } from 'hono/utils/basic-auth';
import { createApp, type Handler } from '../http/app.ts';
import { type Addresses, cannotBeRegistered } from '../http/request.ts';
import { textResponse } from '../http/responses.ts';
import { OPEN_SERVICE } from '../providers/open.ts';
import type { ServiceState } from '../service.ts';
import type { Settings } from '../settings/index.ts';
import type { Clock } from '../sign-ins/time.ts';
import { createCounts } from './counts.ts';
import { METRICS_HEADERS, writeMetrics } from './metrics.ts';
import { PAGE_HEADERS, renderNow, renderWholePage, type Status } from './page.tsx';
import { createRecent } from './recent.ts';

/** `runtime`: such as `Bun 1.4.5`. `readState` is called once the admin port listens, so the service has started. */
export function createAdmin(
  settings: Settings,
  runtime: string,
  clock: Clock,
  readState: () => Promise<ServiceState>,
) {
  const { providers, openEndpoints, maxSessions, adminHost, adminNames, adminToken } = settings;
  const open = { name: OPEN_SERVICE, displayName: 'Open sign-ins' };
  // Names alone: no secret of a provider can be reached from a page.
  const services = [...providers, ...(openEndpoints === undefined ? [] : [open])].map(
    ({ name, displayName }) => ({ name, displayName }),
  );
  const isShared = settings.redis !== undefined;
  const facts = { services, maxSessions, runtime, isShared, clock, startedAtMs: clock.now() };
  const recent = createRecent(clock);
  const counts = createCounts(
    services.map(({ name }) => name),
    recent,
  );
  const isAuthorized = createTokenCheck(adminToken);
  // Besides IP addresses and names without a dot.
  const known = [adminHost, ...adminNames].map((name) => name.toLowerCase());

  const show = (method: Handler) => ({ GET: method, HEAD: method });
  const page = (render: (status: Status) => string) =>
    show(async () => {
      const status = { facts, counts, recent, state: await readState() };
      return new Response(render(status), { headers: PAGE_HEADERS });
    });
  const metrics = show(
    async () =>
      new Response(writeMetrics(counts, facts, await readState()), { headers: METRICS_HEADERS }),
  );
  const app = createApp([
    { path: '/', methods: page(renderWholePage) },
    { path: '/now', methods: page(renderNow) },
    { path: '/metrics', methods: metrics },
    { path: '/*', respond: () => textResponse(404, 'Not found: try / or /metrics\n') },
  ]);

  return {
    monitor: counts.monitor,

    handle(request: Request, addresses: Addresses): Response | Promise<Response> {
      const hostname = (request.headers.get('host') ?? '').toLowerCase().replace(/:\d*$/, '');
      if (!cannotBeRegistered(hostname) && !known.includes(hostname)) {
        return textResponse(421, 'Use the IP address, or list this name in ADMIN_NAMES\n');
      }
      if (isAuthorized(request)) return app(request, addresses);
      const text = 'Send the ADMIN_TOKEN as a bearer token, or as the password\n';
      return textResponse(401, text, CHALLENGE);
    },
  };
}

/** Leaves out Bearer, because Chromium ignores everything after a scheme that it does not know. */
const CHALLENGE = { 'WWW-Authenticate': 'Basic realm="Sign-in Relay"' } as const;

/** Prometheus sends the token (RFC 6750 §2.1), a browser asks for a password (RFC 7617) with any user name. */
function createTokenCheck(token: string | undefined): (request: Request) => boolean {
  if (token === undefined) return () => true;
  // Digests have the same length whatever the text, as `timingSafeEqual` requires.
  const digest = (text = '') => hash('sha256', text, 'buffer');
  const expected = digest(token);
  return (request) => {
    const [, bearer] = /^bearer +(\S+)$/i.exec(request.headers.get('authorization') ?? '') ?? [];
    return timingSafeEqual(digest(bearer ?? auth(request)?.password), expected);
  };
}
