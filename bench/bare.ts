/**
 * What the runtime alone takes for a sign-in: the same five exchanges in bare
 * handlers. No limits, no log, no pages, no expiry, no checks, no headers of its
 * own: nothing that a relay is for.
 */
import { randomBytes } from 'node:crypto';

const { PORT, OAUTH_BASE_URL, MAL_AUTHORIZE_URL, MAL_TOKEN_URL = '' } = process.env;

interface Session {
  result?: string;
  deliver?: (result: string) => void;
}

const byState = new Map<string, Session>();
const bySecret = new Map<string, Session>();
const JSON_TYPE = { 'Content-Type': 'application/json' };

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(PORT),
  idleTimeout: 75,
  development: false,
  fetch(request) {
    const path = request.url.slice(request.url.indexOf('/', 8));
    if (path === '/auth/start') return start(request);
    if (path.startsWith('/auth/result?')) return poll(path.slice(path.indexOf('=') + 1));
    if (path.startsWith('/auth/mal?')) return authorize(path.slice(path.indexOf('=') + 1));
    if (path.startsWith('/auth/mal/callback?')) return callback(path);
    return new Response('ok');
  },
});

async function start(request: Request): Promise<Response> {
  JSON.parse(await request.text());
  const [session, state] = [createSecret(), createSecret()];
  const held: Session = {};
  byState.set(state, held);
  bySecret.set(session, held);
  const url = `${OAUTH_BASE_URL}/auth/mal?state=${state}`;
  return new Response(JSON.stringify({ session, url, expiresIn: 600 }), { headers: JSON_TYPE });
}

const createSecret = () => randomBytes(18).toString('base64url');

async function poll(secret: string): Promise<Response> {
  const held = bySecret.get(secret);
  if (held === undefined) return new Response(null, { status: 410 });
  const result =
    held.result ??
    (await new Promise<string>((resolve) => {
      held.deliver = resolve;
    }));
  bySecret.delete(secret);
  return new Response(result, { headers: JSON_TYPE });
}

function authorize(state: string): Response {
  const Location = `${MAL_AUTHORIZE_URL}?response_type=code&state=${state}`;
  return new Response(null, { status: 302, headers: { Location } });
}

async function callback(path: string): Promise<Response> {
  const [, code = '', state = ''] = /code=(.*)&state=(.*)/.exec(path) ?? [];
  const held = byState.get(state);
  byState.delete(state);
  const answer = await fetch(MAL_TOKEN_URL, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: `grant_type=authorization_code&code=${code}`,
  });
  const { access_token: accessToken } = (await answer.json()) as { access_token: string };
  const result = JSON.stringify({ accessToken });
  if (held !== undefined) held.result = result;
  held?.deliver?.(result);
  return new Response('signed in', { headers: { 'Content-Type': 'text/html' } });
}
