/** A real provider that this project did not write: `oidc-provider`, which is certified. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createMemoryAdapter } from 'oidc-provider/lib/adapters/memory_adapter.js';
import { Provider } from 'oidc-provider/lib/provider.js';
import { endWithFile } from './cleanup.ts';
import { plantSecret } from './secrets.ts';
import { createGate } from './wait.ts';

// The cookie library of oidc-provider uses a call that Bun reports as deprecated. Nobody here can act on that.
process.noDeprecation = true;

const HOUR_SECONDS = 3_600;

export type OpenIdProvider = Awaited<ReturnType<typeof startOpenId>>;

/**
 * A provider that requires PKCE with S256. One page signs the user in, by any name, and asks for
 * consent. The client is confidential with a secret, public without. Each refresh token of a public
 * client is good for one use, and a second use revokes all tokens of the sign-in.
 */
export async function startOpenId(redirectUri: string, clientSecret?: string) {
  /** Every request, without its query. */
  const requests: { method: string; path: string; headers: IncomingHttpHeaders }[] = [];
  const tokenGate = createGate();
  // Node's 5 s would end connections just as a client on a busy machine sends its next request.
  const server = createServer({ keepAliveTimeout: 60_000 }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const tokenUrl = `${issuer}/token`;
  const secret = clientSecret !== undefined && { client_secret: plantSecret(clientSecret) };
  const client = { client_id: 'relay-at-openid', ...secret };
  const authMethod = clientSecret === undefined ? 'none' : 'client_secret_post';
  const provider = new Provider(
    issuer,
    configure({
      ...client,
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: authMethod,
    }),
  );
  const handle = provider.callback();
  server.on('request', async (request, response) => {
    const { method = '', url = '', headers } = request;
    const { pathname: path } = new URL(url, issuer);
    requests.push({ method, path, headers });
    if (path === '/token') await tokenGate.pass();
    if (!url.startsWith('/interaction/')) return handle(request, response);
    await showOrTakeForm(provider, request, response);
  });
  async function stop(): Promise<void> {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }
  endWithFile(stop);
  provider.on('authorization.success', (_context, sent: object) => plantFields(sent));
  provider.on('grant.success', ({ body, oidc }: { body: object; oidc: { params: object } }) => {
    plantFields(body);
    plantFields(oidc.params);
  });
  return {
    issuer,
    authorizeUrl: `${issuer}/auth`,
    tokenUrl,
    clientId: client.client_id,
    requests,
    /** While it is closed, it holds every request to the token endpoint. */
    tokenGate,
    stop,
    /** Requests to the token endpoint so far. */
    exchanges: () =>
      requests.filter(({ method, path }) => method === 'POST' && path === '/token').length,
    /** The name of the token's owner, undefined if the provider does not accept the token. */
    findOwner: async (accessToken: string) =>
      (await provider.AccessToken.find(accessToken))?.accountId,
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

function configure(client: object) {
  const { privateKey: signingKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    adapter: createMemoryAdapter(),
    clients: [client],
    // Also of clients that register themselves (RFC 7591).
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    responseTypes: ['code'],
    pkce: { required: () => true },
    issueRefreshToken: () => true,
    claims: { openid: ['sub'], profile: ['name'] },
    findAccount: (_context: unknown, accountId: string) => ({
      accountId,
      claims: async () => ({ sub: accountId, name: accountId }),
    }),
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      registration: { enabled: true },
      // RFC 8707, which MCP clients use.
      resourceIndicators: { enabled: true, getResourceServerInfo: async () => ({ scope: '' }) },
    },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    // New keys each time, so that cookies of an earlier run are not valid.
    jwks: { keys: [{ ...signingKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig' }] },
    cookies: { keys: [randomBytes(32).toString('base64url')] },
    ttl: {
      AccessToken: HOUR_SECONDS,
      IdToken: HOUR_SECONDS,
      Interaction: HOUR_SECONDS,
      Session: HOUR_SECONDS,
      Grant: HOUR_SECONDS,
      RefreshToken: HOUR_SECONDS,
    },
  };
}

/** Shows the form, or takes what the user sent with it and returns to the provider's own pages. */
async function showOrTakeForm(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const { client_id: clientId, scope = 'openid' } = (
      await provider.interactionDetails(request, response)
    ).params;
    if (request.method !== 'POST') return sendPage(response, 200, FORM);
    const form = new URLSearchParams(await text(request));
    let result: object = { error: 'access_denied', error_description: 'the user pressed Cancel' };
    if (form.get('answer') === 'allow') {
      const accountId = form.get('name') || 'Somebody';
      const grant = new provider.Grant({ accountId, clientId });
      grant.addOIDCScope(scope);
      result = { login: { accountId }, consent: { grantId: await grant.save() } };
    }
    await provider.interactionFinished(request, response, result);
  } catch {
    sendPage(response, 400, '<p>This sign-in has ended. Start again on your device.</p>');
  }
}

const FORM = `
<p>Sign in to let <b>Test TV</b> know your name. Any name and password will do.</p>
<form method="post">
  <label>Name <input name="name" autocomplete="off" required autofocus></label>
  <label>Password <input name="password" type="password" autocomplete="off" required></label>
  <button name="answer" value="allow">Sign in</button>
  <button name="answer" value="deny" formnovalidate>Cancel</button>
</form>`;

function sendPage(response: ServerResponse, status: number, body: string): void {
  const headers = { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' };
  response.writeHead(status, headers).end(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>Demo provider</title>
<main><h1>Demo provider</h1>${body}</main>`);
}
