/**
 * The demo's OpenID provider (certified, PKCE with S256 required), watched. The
 * client is confidential with a secret, public without.
 */
import { startProvider } from '../../../demo/provider/provider.ts';
import { createGate } from '../gate.ts';
import { plantSecret } from '../secrets.ts';
import type { SeenRequest, TestProvider } from './running-provider.ts';

export interface OidcProvider extends TestProvider {
  readonly issuer: string;
}

export interface OidcOptions {
  readonly redirectUri: string;
  readonly clientSecret?: string;
}

const CLIENT_ID = 'relay-at-oidc';

export async function startOidc({ redirectUri, clientSecret }: OidcOptions): Promise<OidcProvider> {
  const requests: SeenRequest[] = [];
  const tokenGate = createGate();
  const { issuer, provider, stop } = await startProvider({
    clientId: CLIENT_ID,
    ...(clientSecret !== undefined && { clientSecret: plantSecret(clientSecret) }),
    redirectUris: [redirectUri],
    appName: 'Test TV',
    async beforeRequest({ method = '', url = '', headers }) {
      const { pathname } = new URL(url, issuer);
      requests.push({ method, path: pathname, headers: headers as SeenRequest['headers'] });
      if (pathname === '/token') await tokenGate.pass();
    },
  });
  provider.on('authorization.success', (_context, sent: object) => plantValues(sent));
  provider.on('grant.success', ({ body, oidc }: { body: object; oidc: { params: object } }) => {
    plantValues(body);
    plantValues(oidc.params);
  });

  const tokenUrl = `${issuer}/token`;
  return {
    issuer,
    authorizeUrl: `${issuer}/auth`,
    tokenUrl,
    clientId: CLIENT_ID,
    clientSecret,
    requests,
    tokenGate,
    async findOwner(accessToken) {
      const headers = { Authorization: `Bearer ${accessToken}` };
      const response = await fetch(`${issuer}/me`, { headers });
      return response.ok ? ((await response.json()) as { name: string }).name : undefined;
    },
    refresh: (refreshToken) => redeem(tokenUrl, { refreshToken, clientSecret }),
    stop,
  };
}

interface Redemption {
  readonly refreshToken: string;
  readonly clientSecret: string | undefined;
}

async function redeem(
  tokenUrl: string,
  { refreshToken, clientSecret }: Redemption,
): Promise<string | undefined> {
  const body = new URLSearchParams({
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    client_id: CLIENT_ID,
    ...(clientSecret !== undefined && { client_secret: clientSecret }),
  });
  const response = await fetch(tokenUrl, { method: 'POST', body });
  if (!response.ok) return undefined;
  return plantSecret(((await response.json()) as { access_token: string }).access_token);
}

const SECRET_FIELDS = [
  'code',
  'state',
  'code_verifier',
  'access_token',
  'refresh_token',
  'id_token',
  'client_secret',
] as const;

function plantValues(fields: object): void {
  for (const name of SECRET_FIELDS) {
    const value = (fields as Record<string, unknown>)[name];
    if (typeof value === 'string') plantSecret(value);
  }
}
