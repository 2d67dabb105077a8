/**
 * Which requests the dev relay and its provider accept: those of programs and of their own pages. A
 * page of another site in a browser on this machine reaches `127.0.0.1` too, and is rejected.
 */
import { hostname as machineName } from 'node:os';
import type { Context, Next } from 'hono';
import { cannotBeRegistered, isSameOrigin } from '../../http/request.ts';
import { say } from './output.ts';

/** A page of another site must not choose how sign-ins end, or read what happened. */
export async function rejectCrossSite(c: Context, next: Next): Promise<Response | undefined> {
  const problem = findCrossSiteProblem(c.req.raw);
  if (problem === undefined) return void (await next());
  say(`${c.req.method} ${c.req.path} got 403: ${problem}`);
  return c.json({ error: problem }, 403);
}

function findCrossSiteProblem(request: Request): string | undefined {
  const { host, hostname, origin } = new URL(request.url);
  const own = machineName().toLowerCase();
  if (!cannotBeRegistered(hostname) && ![own, `${own}.local`].includes(hostname)) {
    return `${host} is not a name of this machine: use its IP address, or localhost`;
  }
  const { method, headers } = request;
  if (method === 'GET' || method === 'HEAD') return undefined;
  const isOwn = headers.get('sec-fetch-site') === 'none' || isSameOrigin(headers, origin);
  return isOwn ? undefined : 'only programs and pages of this origin may do this';
}
