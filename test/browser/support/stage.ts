/** Everything a sign-in needs, each part real: the relay as a user starts it, providers, a browser. */
import type { Browser } from 'playwright-core';
import { findFreePort } from '../../support/free-port.ts';
import { type OidcProvider, startOidc } from '../../support/providers/oidc.ts';
import { startPlainPkce } from '../../support/providers/plain-pkce.ts';
import type { TestProvider } from '../../support/providers/running-provider.ts';
import { type RelayProcess, startRelay } from '../../support/relay-process.ts';
import { plantSecret } from '../../support/secrets.ts';
import { launchChromium } from './chromium.ts';

export interface Stage {
  readonly relay: RelayProcess;
  readonly providers: Readonly<Record<Service, TestProvider>>;
  readonly browser: Browser;
  stop(): Promise<void>;
}

/** As the relay names them: OpenID found by its issuer, OpenID without a secret, PKCE `plain`. */
export const SERVICES = ['demo', 'bare', 'mal'] as const;
export type Service = (typeof SERVICES)[number];

/**
 * `env` is what a test has set otherwise; `publicUrl` is where browsers reach the
 * relay, when that is not where it listens.
 */
export async function setStage(
  env: Readonly<Record<string, string>> = {},
  publicUrl?: string,
): Promise<Stage> {
  const browser = await launchChromium();
  const port = await findFreePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const redirectUri = (service: Service) => `${publicUrl ?? baseUrl}/auth/${service}/callback`;
  const clientSecret = plantSecret('a-client-secret-of-the-browser-tests');
  const [demo, bare, mal] = await Promise.all([
    startOidc({ redirectUri: redirectUri('demo'), clientSecret }),
    startOidc({ redirectUri: redirectUri('bare') }),
    startPlainPkce({ redirectUri: redirectUri('mal') }),
  ]);
  const relay = await startRelay({
    OAUTH_BASE_URL: publicUrl ?? baseUrl,
    HOST: '127.0.0.1',
    PORT: String(port),
    PROVIDERS: SERVICES.join(','),
    LOG_FORMAT: 'json',
    LOG_LEVEL: 'debug',
    // Every sign-in here comes from one address.
    START_BURST: '1000',
    // A test that wears out the limit of an address does so as another one.
    TRUSTED_PROXY_CIDRS: '127.0.0.1',
    ...demoSettings(demo, clientSecret),
    ...bareSettings(bare),
    MAL_CLIENT_ID: mal.clientId,
    MAL_AUTHORIZE_URL: mal.authorizeUrl,
    MAL_TOKEN_URL: mal.tokenUrl,
    ...env,
  });
  const providers = { demo, bare, mal };
  async function stop(): Promise<void> {
    await browser.close();
    await relay.stop();
    await Promise.all(Object.values(providers).map((provider) => provider.stop()));
  }
  return { relay: { ...relay, baseUrl }, providers, browser, stop };
}

function demoSettings({ issuer, clientId }: OidcProvider, clientSecret: string) {
  return {
    DEMO_ISSUER: issuer,
    DEMO_CLIENT_ID: clientId,
    DEMO_CLIENT_SECRET: clientSecret,
    DEMO_SCOPE: 'openid profile offline_access',
    // OpenID Connect Core §11: without it there is no refresh token.
    DEMO_AUTHORIZE_PARAMS: 'prompt=consent',
  };
}

function bareSettings({ clientId, authorizeUrl, tokenUrl }: OidcProvider) {
  return {
    BARE_CLIENT_ID: clientId,
    BARE_AUTHORIZE_URL: authorizeUrl,
    BARE_TOKEN_URL: tokenUrl,
    BARE_PKCE: 'S256',
    BARE_SCOPE: 'openid profile',
  };
}
