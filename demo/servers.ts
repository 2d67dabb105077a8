/** The two servers of the demo, both on this machine: a real provider, and the relay as an operator starts it. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { startProvider } from './provider.ts';

export interface Servers {
  readonly relayUrl: string;
  readonly issuer: string;
  /** Rejects when the relay ends by itself. Never resolves. */
  readonly failure: Promise<never>;
  stop(): Promise<void>;
}

/** The name under which the relay offers the provider. */
export const SERVICE = 'demo';

const MAIN = join(import.meta.dir, '../src/main.ts');
const HEALTH_INTERVAL_MS = 20;

// Bun would use the proxy of the environment even for addresses of this machine.
process.env.NO_PROXY = '127.0.0.1';

/** Resolves once the relay responds. */
export async function startServers(): Promise<Servers> {
  const port = findFreePort();
  const relayUrl = `http://127.0.0.1:${port}`;
  const clientId = 'sign-in-relay';
  const clientSecret = randomBytes(24).toString('base64url');
  const redirectUris = [`${relayUrl}/auth/${SERVICE}/callback`];
  const provider = await startProvider({
    ...{ clientId, clientSecret, redirectUris, appName: 'Demo TV' },
  });
  const relay = Bun.spawn([process.execPath, MAIN], {
    env: {
      PATH: process.env.PATH ?? '',
      OAUTH_BASE_URL: relayUrl,
      HOST: '127.0.0.1',
      PORT: String(port),
      PROVIDERS: SERVICE,
      DEMO_ISSUER: provider.issuer,
      DEMO_CLIENT_ID: clientId,
      DEMO_CLIENT_SECRET: clientSecret,
      DEMO_SCOPE: 'openid profile offline_access',
      // Without it there is no refresh token (OpenID Connect Core §11).
      DEMO_AUTHORIZE_PARAMS: 'prompt=consent',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  process.once('exit', () => relay.kill('SIGKILL'));

  async function fail(): Promise<never> {
    const errors = await new Response(relay.stderr).text();
    const reason = relay.signalCode ?? `exit code ${await relay.exited}`;
    throw new Error(`The relay ended (${reason}). ${errors.slice(-1_000)}`.trim());
  }
  async function stop(): Promise<void> {
    relay.kill('SIGTERM');
    await Promise.all([relay.exited, provider.stop()]);
  }
  async function untilHealthy(): Promise<void> {
    const ask = () => fetch(`${relayUrl}/health`).catch(() => undefined);
    while ((relay.signalCode ?? relay.exitCode) === null && !(await ask())?.ok)
      await Bun.sleep(HEALTH_INTERVAL_MS);
  }
  const failure = fail();
  // After a stop nobody waits for it.
  failure.catch(() => undefined);
  try {
    await Promise.race([untilHealthy(), failure]);
  } catch (error) {
    await provider.stop();
    throw error;
  }
  return { relayUrl, issuer: provider.issuer, failure, stop };
}

/** A port that was free a moment ago: the relay needs its public address before it listens. */
function findFreePort(): number {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  listener.stop(true);
  return listener.port;
}
