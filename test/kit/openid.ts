/** Real providers that this project did not write: a certified OpenID provider, and OAuth with PKCE `plain`. */
import OAuth2Server from '@node-oauth/oauth2-server';
import { startProvider } from './openid-provider.ts';
import { plantSecret } from './secrets.ts';
import { createGate, type Gate } from './wait.ts';

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

export interface RealProvider {
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  /** Every request so far, without its query. */
  readonly requests: readonly SeenRequest[];
  /** Requests to the token endpoint so far. */
  exchanges(): number;
  /** Closed, it holds every request to the token endpoint. */
  readonly tokenGate: Gate;
  /** Asks the provider itself: the name of the token's owner, undefined if the provider does not accept the token. */
  findOwner(accessToken: string): Promise<string | undefined>;
  /** Redeems the refresh token: the new access token, undefined if the provider refuses. */
  refresh(refreshToken: string): Promise<string | undefined>;
  stop(): Promise<void>;
}

interface Endpoints {
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  readonly userUrl: string;
  readonly client: Readonly<Record<string, string>>;
  readonly stop: () => Promise<void>;
}

function describe(
  { authorizeUrl, tokenUrl, userUrl, client, stop }: Endpoints,
  requests: readonly SeenRequest[],
  tokenGate: Gate,
): RealProvider {
  const { pathname } = new URL(tokenUrl);
  return {
    authorizeUrl,
    tokenUrl,
    requests,
    tokenGate,
    stop,
    clientId: client.client_id ?? '',
    exchanges: () =>
      requests.filter(({ method, path }) => method === 'POST' && path === pathname).length,
    async findOwner(accessToken) {
      const headers = { Authorization: `Bearer ${accessToken}` };
      const response = await fetch(userUrl, { headers });
      return response.ok ? ((await response.json()) as { name: string }).name : undefined;
    },
    async refresh(refreshToken) {
      const form = { grant_type: 'refresh_token', refresh_token: refreshToken, ...client };
      const body = new URLSearchParams(form);
      const response = await fetch(tokenUrl, { method: 'POST', body });
      if (!response.ok) return undefined;
      return plantSecret(((await response.json()) as { access_token: string }).access_token);
    },
  };
}

export interface OpenIdProvider extends RealProvider {
  readonly issuer: string;
  /** How often it has given tokens, whether or not they arrived. */
  grants(): number;
}

/**
 * A provider that requires PKCE with S256. The client is confidential with a secret,
 * public without. Each refresh token of a public client is good for one use, and a
 * second use revokes all tokens of the sign-in.
 */
export async function startOpenId(
  redirectUri: string,
  clientSecret?: string,
): Promise<OpenIdProvider> {
  const requests: SeenRequest[] = [];
  const tokenGate = createGate();
  const clientId = 'relay-at-openid';
  const { issuer, provider, stop } = await startProvider({
    clientId,
    ...(clientSecret !== undefined && { clientSecret: plantSecret(clientSecret) }),
    redirectUris: [redirectUri],
    appName: 'Test TV',
    async beforeRequest({ method = '', url = '', headers }) {
      const { pathname } = new URL(url, issuer);
      requests.push({ method, path: pathname, headers: headers as SeenRequest['headers'] });
      if (pathname === '/token') await tokenGate.pass();
    },
  });
  provider.on('authorization.success', (_context, sent: object) => plantFields(sent));
  let grants = 0;
  provider.on('grant.success', ({ body, oidc }: { body: object; oidc: { params: object } }) => {
    grants += 1;
    plantFields(body);
    plantFields(oidc.params);
  });
  const endpoints = {
    authorizeUrl: `${issuer}/auth`,
    tokenUrl: `${issuer}/token`,
    userUrl: `${issuer}/me`,
    client: {
      client_id: clientId,
      ...(clientSecret !== undefined && { client_secret: clientSecret }),
    },
    stop,
  };
  return { issuer, grants: () => grants, ...describe(endpoints, requests, tokenGate) };
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
  const requests: SeenRequest[] = [];
  const tokenGate = createGate();
  const clientId = 'relay-at-plain';
  const oauth = createPlainServer(clientId, redirectUri);
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
  const endpoints = {
    authorizeUrl: `${origin}/authorize`,
    tokenUrl: `${origin}/token`,
    userUrl: `${origin}/me`,
    client: { client_id: clientId },
    stop: () => server.stop(true),
  };
  return describe(endpoints, requests, tokenGate);
}

/** Codes and tokens are in memory, of one client and one user. */
function createPlainServer(clientId: string, redirectUri: string): OAuth2Server {
  const grants = ['authorization_code', 'refresh_token'];
  const client = { id: clientId, redirectUris: [redirectUri], grants };
  const user = { name: PLAIN_OWNER };
  const codes = new Map<string, OAuth2Server.AuthorizationCode>();
  const tokens = new Map<string, OAuth2Server.Token>();
  const byRefreshToken = new Map<string, OAuth2Server.RefreshToken>();
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
      tokens.set(plantSecret(token.accessToken), saved);
      const { refreshToken } = token;
      if (refreshToken !== undefined) {
        byRefreshToken.set(plantSecret(refreshToken), { ...saved, refreshToken });
      }
      return saved;
    },
    getAccessToken: async (token) => tokens.get(token),
    getRefreshToken: async (token) => byRefreshToken.get(token),
    revokeToken: async ({ refreshToken }) => byRefreshToken.delete(refreshToken),
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
      case '/authorize':
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
