/**
 * A real OpenID provider on this machine: `oidc-provider`, which is certified and
 * not part of this project. It requires PKCE with S256. One page signs the user in
 * and asks for consent.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMemoryAdapter } from 'oidc-provider/lib/adapters/memory_adapter.js';
import { Provider } from 'oidc-provider/lib/provider.js';

export interface ProviderOptions {
  readonly clientId: string;
  /** Absent for a public client. */
  readonly clientSecret?: string;
  readonly redirectUris: readonly string[];
  /** Shown to the user on the sign-in page. */
  readonly appName: string;
  /** Sees every request before the provider does, and may delay it. */
  readonly beforeRequest?: (request: IncomingMessage) => void | Promise<void>;
}

// The cookie library of oidc-provider uses a call that Bun reports as deprecated. Nobody here can act on that.
process.noDeprecation = true;

const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 24 * HOUR_SECONDS;

/** Listens on a free port of 127.0.0.1 when it returns. Prints nothing. */
export async function startProvider(options: ProviderOptions) {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, configure(options));
  const handle = provider.callback();
  server.on('request', async (request, response) => {
    await options.beforeRequest?.(request);
    if (!request.url?.startsWith('/interaction/')) return handle(request, response);
    await showOrTakeForm(provider, options.appName, request, response);
  });

  async function stop(): Promise<void> {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }
  // `provider` has events.
  return { issuer, provider, stop };
}

function configure({ clientId, clientSecret, redirectUris }: ProviderOptions) {
  const { privateKey: signingKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    adapter: createMemoryAdapter(),
    clients: [
      {
        client_id: clientId,
        redirect_uris: redirectUris,
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        ...(clientSecret === undefined
          ? { token_endpoint_auth_method: 'none' }
          : { token_endpoint_auth_method: 'client_secret_post', client_secret: clientSecret }),
      },
    ],
    // Also of clients that register themselves (RFC 7591).
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    responseTypes: ['code'],
    pkce: { required: () => true },
    claims: { openid: ['sub'], profile: ['name'] },
    findAccount: (_context: unknown, accountId: string) => ({
      accountId,
      claims: async () => ({ sub: accountId, name: nameOf(accountId) }),
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
      Session: DAY_SECONDS,
      Grant: DAY_SECONDS,
      RefreshToken: DAY_SECONDS,
    },
  };
}

/** Any name is an account. Its id is the name in base64url, since a `sub` is ASCII (OpenID Connect Core §2). */
function accountIdOf(name: string): string {
  const shortened = name.replace(/\p{Cc}/gu, '').trim();
  return Buffer.from(shortened.slice(0, 60)).toString('base64url');
}

const nameOf = (accountId: string) => Buffer.from(accountId, 'base64url').toString();

const MAX_FORM_BYTES = 4_096;

/** Shows the form, or takes what the user sent with it and returns to the provider's own pages. */
async function showOrTakeForm(
  provider: Provider,
  appName: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const { client_id: clientId, scope = 'openid' } = (
      await provider.interactionDetails(request, response)
    ).params;
    if (request.method !== 'POST') return sendPage(response, 200, formOf(appName));
    const form = await readForm(request);
    let result: object = { error: 'access_denied', error_description: 'the user pressed Cancel' };
    if (form.get('answer') === 'allow') {
      const accountId = accountIdOf(form.get('name') || 'Somebody');
      const grant = new provider.Grant({ accountId, clientId });
      grant.addOIDCScope(scope);
      result = { login: { accountId }, consent: { grantId: await grant.save() } };
    }
    await provider.interactionFinished(request, response, result);
  } catch {
    sendPage(response, 400, '<p>This sign-in has ended. Start again on your device.</p>');
  }
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  let text = '';
  for await (const part of request) {
    text += String(part);
    if (text.length > MAX_FORM_BYTES) throw new Error('the form is too long');
  }
  return new URLSearchParams(text);
}

const formOf = (appName: string) => `
<p>Sign in to let <b>${Bun.escapeHTML(appName)}</b> know your name. Any name and password will do.</p>
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
