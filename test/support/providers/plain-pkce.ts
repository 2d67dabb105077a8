/**
 * A provider of the kind the relay was first made for: public client, PKCE
 * with the `plain` method and no other, one page with Allow and Deny.
 */
import OAuth2Server from '@node-oauth/oauth2-server';
import { createGate } from '../gate.ts';
import { plantSecret } from '../secrets.ts';
import { createModel } from './plain-pkce-model.ts';
import type { SeenRequest, TestProvider } from './running-provider.ts';

export interface PlainPkceOptions {
  readonly redirectUri: string;
}

const CLIENT_ID = 'relay-at-plain';

export const OWNER = 'Grace';

export async function startPlainPkce({ redirectUri }: PlainPkceOptions): Promise<TestProvider> {
  const requests: SeenRequest[] = [];
  const tokenGate = createGate();
  const oauth = createServer(redirectUri);
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const headers = Object.fromEntries(request.headers);
      requests.push({ method: request.method, path: pathname, headers });
      if (pathname === '/token') await tokenGate.pass();
      return answer(oauth, pathname, request);
    },
  });
  const { origin } = server.url;
  return {
    authorizeUrl: `${origin}/authorize`,
    tokenUrl: `${origin}/token`,
    clientId: CLIENT_ID,
    clientSecret: undefined,
    requests,
    tokenGate,
    async findOwner(accessToken) {
      const headers = { Authorization: `Bearer ${accessToken}` };
      const response = await fetch(`${origin}/me`, { headers });
      return response.ok ? ((await response.json()) as { name: string }).name : undefined;
    },
    refresh: (refreshToken) => refresh(`${origin}/token`, refreshToken),
    stop: () => server.stop(true),
  };
}

function createServer(redirectUri: string): OAuth2Server {
  const model = createModel({ clientId: CLIENT_ID, redirectUri, owner: OWNER });
  // `enablePlainPKCE` is not in the package's types.
  const options: OAuth2Server.ServerOptions & { enablePlainPKCE: boolean } = {
    model,
    enablePlainPKCE: true,
    requireClientAuthentication: { refresh_token: false },
    authenticateHandler: { handle: () => ({ name: OWNER }) },
  };
  return new OAuth2Server(options);
}

async function answer(oauth: OAuth2Server, pathname: string, request: Request): Promise<Response> {
  const url = new URL(request.url);
  const body = Object.fromEntries(new URLSearchParams(await request.text()));
  const asked = new OAuth2Server.Request({
    method: request.method,
    headers: Object.fromEntries(request.headers),
    query: Object.fromEntries(url.searchParams),
    body,
  });
  const reply = new OAuth2Server.Response();
  try {
    switch (pathname) {
      case '/authorize':
        if (url.searchParams.get('code_challenge_method') !== 'plain') return refuse('not plain');
        plantSecret(url.searchParams.get('state') ?? '');
        plantSecret(url.searchParams.get('code_challenge') ?? '');
        if (request.method === 'GET') return page();
        await oauth.authorize(asked, reply);
        return toResponse(reply);
      case '/token':
        await oauth.token(asked, reply);
        return toResponse(reply);
      case '/me':
        return Response.json((await oauth.authenticate(asked, reply)).user);
      default:
        return refuse('there is no such page');
    }
  } catch (error) {
    // The server has put what it thinks into the reply, unless it trusts not even the redirect address.
    return reply.status === 200 ? refuse(String(error)) : toResponse(reply);
  }
}

function toResponse({ status = 200, headers = {}, body }: OAuth2Server.Response): Response {
  return status === 302
    ? new Response(null, { status, headers })
    : Response.json(body, { status, headers });
}

function refuse(problem: string): Response {
  return new Response(problem, { status: 400 });
}

/** The form goes back to its own address, query and all. */
function page(): Response {
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Plain provider</title><link rel="icon" href="data:,"></head>
<body><form method="post">
<button name="allowed" value="true">Allow</button>
<button name="allowed" value="false">Deny</button>
</form></body></html>`;
  return new Response(html, { headers: { 'Content-Type': 'text/html; charset=utf-8' } });
}

async function refresh(tokenUrl: string, refreshToken: string): Promise<string | undefined> {
  const body = new URLSearchParams({
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    client_id: CLIENT_ID,
  });
  const response = await fetch(tokenUrl, { method: 'POST', body });
  if (!response.ok) return undefined;
  return plantSecret(((await response.json()) as { access_token: string }).access_token);
}
