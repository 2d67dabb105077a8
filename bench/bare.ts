/**
 * What a sign-in is compared with: the same five requests in bare handlers of the same
 * runtime. They have no limits, log, pages, expiry, checks or headers.
 */
import { randomBytes } from 'node:crypto';

const { PORT, OAUTH_BASE_URL, MAL_AUTHORIZE_URL, MAL_TOKEN_URL = '' } = process.env;

interface Session {
  result?: string;
  deliver?: (result: string) => void;
}

const byState = new Map<string, Session>();
const byPollSecret = new Map<string, Session>();
const JSON_TYPE = { 'Content-Type': 'application/json' };

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(PORT),
  idleTimeout: 75,
  development: false,
  fetch(request) {
    const path = request.url.slice(request.url.indexOf('/', 8));
    if (path === '/') return new Response('ok');
    if (path === '/auth/start') return start(request);
    if (path.startsWith('/auth/result?')) return poll(path.slice(path.indexOf('=') + 1));
    if (path.startsWith('/auth/mal?')) return authorize(path.slice(path.indexOf('=') + 1));
    return callback(path);
  },
});

async function start(request: Request): Promise<Response> {
  JSON.parse(await request.text());
  const [pollSecret, state] = [createSecret(), createSecret()];
  const session: Session = {};
  byState.set(state, session);
  byPollSecret.set(pollSecret, session);
  const url = `${OAUTH_BASE_URL}/auth/mal?state=${state}`;
  const body = JSON.stringify({ session: pollSecret, url, expiresIn: 600 });
  return new Response(body, { headers: JSON_TYPE });
}

const createSecret = () => randomBytes(18).toString('base64url');

async function poll(pollSecret: string): Promise<Response> {
  const session = byPollSecret.get(pollSecret);
  if (session === undefined) return new Response(null, { status: 410 });
  const result =
    session.result ??
    (await new Promise<string>((resolve) => {
      session.deliver = resolve;
    }));
  byPollSecret.delete(pollSecret);
  return new Response(result, { headers: JSON_TYPE });
}

function authorize(state: string): Response {
  const Location = `${MAL_AUTHORIZE_URL}?response_type=code&state=${state}`;
  return new Response(null, { status: 302, headers: { Location } });
}

async function callback(path: string): Promise<Response> {
  const [, code = '', state = ''] = /code=(.*)&state=(.*)/.exec(path) ?? [];
  const session = byState.get(state);
  byState.delete(state);
  const response = await fetch(MAL_TOKEN_URL, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: `grant_type=authorization_code&code=${code}`,
  });
  const { access_token: accessToken } = (await response.json()) as { access_token: string };
  const result = JSON.stringify({ accessToken });
  if (session !== undefined) session.result = result;
  session?.deliver?.(result);
  return new Response('signed in', { headers: { 'Content-Type': 'text/html' } });
}
