/** Real providers that this project did not write: a certified OpenID provider, and OAuth with PKCE `plain`. */
import type { IncomingHttpHeaders } from 'node:http';
import OAuth2Server from '@node-oauth/oauth2-server';
import { startProvider } from './openid-provider.ts';
import { plantSecret } from './secrets.ts';
import { createGate } from './wait.ts';

export type RealProvider = ReturnType<typeof describe>;
export type OpenIdProvider = Awaited<ReturnType<typeof startOpenId>>;

/** Every request to a provider, without its query. */
function createWatch() {
  const requests: { method: string; path: string; headers: IncomingHttpHeaders }[] = [];
  const tokenGate = createGate();
  async function see(method: string, path: string, headers: IncomingHttpHeaders): Promise<void> {
    requests.push({ method, path, headers });
    if (path === '/token') await tokenGate.pass();
  }
  return { requests, tokenGate, see };
}

function describe(
  origin: string,
  client: { readonly client_id: string; readonly client_secret?: string },
  { requests, tokenGate }: ReturnType<typeof createWatch>,
  stop: () => Promise<void>,
) {
  const tokenUrl = `${origin}/token`;
  return {
    authorizeUrl: `${origin}/auth`,
    tokenUrl,
    clientId: client.client_id,
    requests,
    /** Closed, it holds every request to the token endpoint. */
    tokenGate,
    stop,
    /** Requests to the token endpoint so far. */
    exchanges: () =>
      requests.filter(({ method, path }) => method === 'POST' && path === '/token').length,
    /** Asks the provider itself: the name of the token's owner, undefined if the provider does not accept the token. */
    async findOwner(accessToken: string): Promise<string | undefined> {
      const headers = { Authorization: `Bearer ${accessToken}` };
      const response = await fetch(`${origin}/me`, { headers });
      return response.ok ? ((await response.json()) as { name: string }).name : undefined;
    },
    /** Redeems the refresh token: the new access token, undefined if the provider refuses. */
    async refresh(refreshToken: string): Promise<string | undefined> {
      const form = { grant_type: 'refresh_token', refresh_token: refreshToken, ...client };
      const body = new URLSearchParams(form);
      const response = await fetch(tokenUrl, { method: 'POST', body });
      if (!response.ok) return undefined;
      return plantSecret(((await response.json()) as { access_token: string }).access_token);
    },
  };
}

/**
 * A provider that requires PKCE with S256. The client is confidential with a secret,
 * public without. Each refresh token of a public client is good for one use, and a
 * second use revokes all tokens of the sign-in.
 */
export async function startOpenId(redirectUri: string, clientSecret?: string) {
  const watch = createWatch();
  const clientId = 'relay-at-openid';
  const { issuer, provider, stop } = await startProvider({
    clientId,
    ...(clientSecret !== undefined && { clientSecret: plantSecret(clientSecret) }),
    redirectUris: [redirectUri],
    appName: 'Test TV',
    beforeRequest: ({ method = '', url = '', headers }) =>
      watch.see(method, new URL(url, issuer).pathname, headers),
  });
  provider.on('authorization.success', (_context, sent: object) => plantFields(sent));
  let grants = 0;
  provider.on('grant.success', ({ body, oidc }: { body: object; oidc: { params: object } }) => {
    grants += 1;
    plantFields(body);
    plantFields(oidc.params);
  });
  const secret = clientSecret !== undefined && { client_secret: clientSecret };
  return {
    ...describe(issuer, { client_id: clientId, ...secret }, watch, stop),
    issuer,
    /** How often it has given tokens, whether or not they arrived. */
    grants: () => grants,
  };
}

const SECRET_FIELDS = [
  'code',
  'state',
  'code_verifier',
  'access_token',
  'refresh_token',
  'id_token',
  'client_secret',
];

function plantFields(fields: object): void {
  for (const name of SECRET_FIELDS) {
    const value = (fields as Record<string, unknown>)[name];
    if (typeof value === 'string') plantSecret(value);
  }
}

/** The only user of the plain provider. */
export const PLAIN_OWNER = 'Grace';

/** A provider like MyAnimeList: public client, PKCE `plain` and no other method, one page with Allow and Deny. */
export async function startPlainPkce(redirectUri: string): Promise<RealProvider> {
  const watch = createWatch();
  const clientId = 'relay-at-plain';
  const oauth = createPlainServer(clientId, redirectUri);
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      await watch.see(request.method, pathname, Object.fromEntries(request.headers));
      return answer(oauth, pathname, request);
    },
  });
  return describe(server.url.origin, { client_id: clientId }, watch, () => server.stop(true));
}

/** Codes and tokens are in memory, of one client and one user. */
function createPlainServer(clientId: string, redirectUri: string): OAuth2Server {
  const grants = ['authorization_code', 'refresh_token'];
  const client = { id: clientId, redirectUris: [redirectUri], grants };
  const user = { name: PLAIN_OWNER };
  const codes = new Map<string, OAuth2Server.AuthorizationCode>();
  /** By the access token and by the refresh token. */
  const tokens = new Map<string, OAuth2Server.Token>();
  const model: OAuth2Server.AuthorizationCodeModel & OAuth2Server.RefreshTokenModel = {
    getClient: async (id) => id === clientId && client,
    async saveAuthorizationCode(code) {
      const saved = { ...code, client, user };
      codes.set(plantSecret(code.authorizationCode), saved);
      return saved;
    },
    getAuthorizationCode: async (code) => codes.get(code),
    revokeAuthorizationCode: async ({ authorizationCode }) => codes.delete(authorizationCode),
    async saveToken(token) {
      const saved = { ...token, client, user };
      for (const each of [token.accessToken, token.refreshToken]) {
        if (each !== undefined) tokens.set(plantSecret(each), saved);
      }
      return saved;
    },
    getAccessToken: async (token) => tokens.get(token),
    getRefreshToken: async (token) => tokens.get(token) as OAuth2Server.RefreshToken | undefined,
    revokeToken: async ({ refreshToken }) => tokens.delete(refreshToken),
  };
  // `enablePlainPKCE` is not in the package's types.
  const options: OAuth2Server.ServerOptions & { enablePlainPKCE: boolean } = {
    model,
    enablePlainPKCE: true,
    requireClientAuthentication: { refresh_token: false },
    authenticateHandler: { handle: () => user },
  };
  return new OAuth2Server(options);
}

async function answer(oauth: OAuth2Server, pathname: string, request: Request): Promise<Response> {
  const { searchParams } = new URL(request.url);
  const asked = new OAuth2Server.Request({
    method: request.method,
    headers: Object.fromEntries(request.headers),
    query: Object.fromEntries(searchParams),
    body: Object.fromEntries(new URLSearchParams(await request.text())),
  });
  const reply = new OAuth2Server.Response();
  try {
    switch (pathname) {
      case '/auth':
        if (searchParams.get('code_challenge_method') !== 'plain') return refuse('not plain');
        plantSecret(searchParams.get('state') ?? '');
        plantSecret(searchParams.get('code_challenge') ?? '');
        if (request.method === 'GET') return showForm();
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
    // The server has put its verdict into the reply, unless it does not trust even the redirect URI.
    return reply.status === 200 ? refuse(String(error)) : toResponse(reply);
  }
}

function toResponse({ status = 200, headers = {}, body }: OAuth2Server.Response): Response {
  return status === 302
    ? new Response(null, { status, headers })
    : Response.json(body, { status, headers });
}

const refuse = (problem: string) => new Response(problem, { status: 400 });

/** The form is sent to its own address, with the same query. */
function showForm(): Response {
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Plain provider</title><link rel="icon" href="data:,"></head>
<body><form method="post">
<button name="allowed" value="true">Allow</button>
<button name="allowed" value="false">Deny</button>
</form></body></html>`;
  return new Response(html, { headers: { 'Content-Type': 'text/html; charset=utf-8' } });
}
