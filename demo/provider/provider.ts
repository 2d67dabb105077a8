/**
 * A real OpenID provider on this machine: `oidc-provider`, which is certified
 * and which nobody here wrote. PKCE with S256 is required of every client.
 */
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createMemoryAdapter } from 'oidc-provider/lib/adapters/memory_adapter.js';
import { Provider } from 'oidc-provider/lib/provider.js';
import { findAccount } from './account.ts';
import { handleInteraction, isInteraction } from './interaction.ts';

export interface ProviderOptions {
  readonly clientId: string;
  /** Absent: a public client, which has none. */
  readonly clientSecret?: string;
  readonly redirectUris: readonly string[];
  /** As the person reads it on the sign-in page. */
  readonly appName: string;
  /** Sees every request before the provider does, and may hold it back. */
  readonly beforeRequest?: (request: IncomingMessage) => void | Promise<void>;
}

export interface RunningProvider {
  readonly issuer: string;
  /** For its events. */
  readonly provider: Provider;
  stop(): Promise<void>;
}

// oidc-provider's cookie library compares with a call that Bun says is deprecated: nothing for whoever
// reads this terminal, and nothing they could do.
process.noDeprecation = true;

const MINUTE_SECONDS = 60;
const DAY_SECONDS = 24 * 60 * MINUTE_SECONDS;

/** Listens on a free port of 127.0.0.1 when it returns. Writes nothing to the terminal. */
export async function startProvider(options: ProviderOptions): Promise<RunningProvider> {
  const server = createServer();
  const issuer = await listen(server);
  const provider = new Provider(issuer, await configure(options));
  const handle = provider.callback();
  server.on('request', async (request, response) => {
    await options.beforeRequest?.(request);
    if (isInteraction(request)) {
      await handleInteraction(provider, options.appName, request, response);
    } else {
      await handle(request, response);
    }
  });
  return { issuer, provider, stop: () => close(server) };
}

async function configure({ clientId, clientSecret, redirectUris }: ProviderOptions) {
  return {
    adapter: createMemoryAdapter(),
    clients: [
      {
        client_id: clientId,
        redirect_uris: redirectUris,
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        id_token_signed_response_alg: 'ES256',
        ...(clientSecret === undefined
          ? { token_endpoint_auth_method: 'none' }
          : { token_endpoint_auth_method: 'client_secret_post', client_secret: clientSecret }),
      },
    ],
    responseTypes: ['code'],
    pkce: { required: () => true },
    claims: { openid: ['sub'], profile: ['name'] },
    findAccount,
    features: { devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: false } },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    // Fresh ones each time: whatever the last run left in a browser is void.
    jwks: { keys: [await createSigningKey()] },
    cookies: { keys: [randomBytes(32).toString('base64url')] },
    ttl: {
      AccessToken: 60 * MINUTE_SECONDS,
      IdToken: 60 * MINUTE_SECONDS,
      Interaction: 60 * MINUTE_SECONDS,
      Session: DAY_SECONDS,
      Grant: DAY_SECONDS,
      RefreshToken: DAY_SECONDS,
    },
  };
}

async function createSigningKey(): Promise<object> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
  const { privateKey } = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const { kty, crv, x, y, d } = await crypto.subtle.exportKey('jwk', privateKey);
  return { kty, crv, x, y, d, alg: 'ES256', use: 'sig' };
}

function listen(server: Server): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (address === null || typeof address === 'string') return reject(new Error('no port'));
      resolve(`http://127.0.0.1:${address.port}`);
    });
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
