/** The two servers of the demo, both on this machine: a real provider, and the relay. */
import { randomBytes } from 'node:crypto';
import { findFreePort } from './free-port.ts';
import { startProvider } from './provider/provider.ts';
import { startRelay } from './relay.ts';

export interface Stage {
  readonly relayUrl: string;
  readonly issuer: string;
  /** Rejects when the relay ends by itself. */
  readonly failure: Promise<never>;
  stop(): Promise<void>;
}

/** The name by which the relay offers the provider. */
export const SERVICE = 'demo';

// Bun asks the proxy of the environment even for addresses of this machine, and a proxy has none of them.
process.env.NO_PROXY = '127.0.0.1';

export async function setStage(): Promise<Stage> {
  const port = await findFreePort();
  const relayUrl = `http://127.0.0.1:${port}`;
  const clientId = 'sign-in-relay';
  const clientSecret = randomBytes(24).toString('base64url');
  const provider = await startProvider({
    clientId,
    clientSecret,
    redirectUris: [`${relayUrl}/auth/${SERVICE}/callback`],
    appName: 'Demo TV',
  });
  try {
    const relay = await startRelay({
      OAUTH_BASE_URL: relayUrl,
      HOST: '127.0.0.1',
      PORT: String(port),
      PROVIDERS: SERVICE,
      DEMO_ISSUER: provider.issuer,
      DEMO_CLIENT_ID: clientId,
      DEMO_CLIENT_SECRET: clientSecret,
      DEMO_SCOPE: 'openid profile offline_access',
      // OpenID Connect Core §11: without it there is no refresh token.
      DEMO_AUTHORIZE_PARAMS: 'prompt=consent',
    });
    const stop = async () => void (await Promise.all([relay.stop(), provider.stop()]));
    return { relayUrl, issuer: provider.issuer, failure: relay.failure, stop };
  } catch (error) {
    await provider.stop();
    throw error;
  }
}
