/** The second front door: RFC 8628 for any standard client, under `/oauth2/<service>/`. */
import { Hono } from 'hono';
import { EXCHANGE_LEASE_MS, HANDLER_DEADLINE_MS, START_BODY_DEADLINE_MS } from '../../limits.ts';
import type { EnabledProvider } from '../../providers/enabled.ts';
import { createDeadlines } from '../../relay/deadlines.ts';
import type { OAuthDoorOptions } from '../door-options.ts';
import { guard, type Handler } from '../guard.ts';
import type { Env, RequestContext } from '../request-context.ts';
import { refuseOAuth } from './answers.ts';
import { createDeviceAuthorization } from './device-authorization.ts';
import { answerMetadata } from './metadata.ts';
import { AUTHORIZATION_ROUTE, METADATA_ROUTES, TOKEN_ROUTE } from './routes.ts';
import { createToken } from './token.ts';

export type OAuthHandler = (
  c: RequestContext,
  requestId: string,
  enabled: EnabledProvider | 'undiscovered',
) => Promise<Response>;

export function createOAuthDoor(options: OAuthDoorOptions): Hono<Env> {
  const { clock, pollSeconds, providers, baseUrl } = options;
  const deadlines = createDeadlines(clock, HANDLER_DEADLINE_MS);
  // A poll is held; a refresh may wait for another one's, and then ask the provider itself.
  const longestMs = Math.max(pollSeconds * 1_000, START_BODY_DEADLINE_MS + EXCHANGE_LEASE_MS);
  const tokenDeadlines = createDeadlines(clock, longestMs + HANDLER_DEADLINE_MS);
  const answerFault = () => refuseOAuth('temporarily_unavailable');
  // A faulted poll is told to come again, as at the other door.
  const answerPending = () => refuseOAuth('authorization_pending');
  const serve = (method: string, handler: OAuthHandler): Handler =>
    toHandler(method, handler, providers);
  // The relay's own addresses, so the provider's need not be known.
  const metadata = serve('GET', async ({ req }) => answerMetadata(baseUrl, serviceOf(req.path)));

  const door = new Hono<Env>();
  const authorization = serve('POST', createDeviceAuthorization(options));
  door.all(AUTHORIZATION_ROUTE, guard(AUTHORIZATION_ROUTE, authorization, deadlines, answerFault));
  const token = serve('POST', createToken(options));
  door.all(TOKEN_ROUTE, guard(TOKEN_ROUTE, token, tokenDeadlines, answerPending));
  for (const route of METADATA_ROUTES) {
    door.all(route, guard(route, metadata, deadlines, answerFault));
  }
  door.all('/oauth2/*', () => refuseOAuth('not_found'));
  return door;
}

function toHandler(
  method: string,
  handler: OAuthHandler,
  providers: OAuthDoorOptions['providers'],
): Handler {
  return async (c, requestId) => {
    const enabled = providers.get(serviceOf(c.req.path));
    if (enabled === undefined) return refuseOAuth('not_found');
    if (c.req.method !== method)
      return refuseOAuth('method_not_allowed', { headers: { Allow: method } });
    return handler(c, requestId, enabled);
  };
}

/** The segment as it was sent: what follows `oauth2`. */
function serviceOf(path: string): string {
  const segments = path.split('/');
  return segments[segments.indexOf('oauth2') + 1] ?? '';
}
