/** OAuth with PKCE `plain`, by a library that this project did not write: what MyAnimeList does. */
import OAuth2Server from '@node-oauth/oauth2-server';
import { createWatch, describe, type RealProvider } from './openid.ts';
import { plantSecret } from './secrets.ts';

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
