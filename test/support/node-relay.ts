/** The relay in the host of examples/, under plain Node. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { findFreePort } from './free-port.ts';
import { type LaunchedRelay, launchRelay } from './relay-process.ts';

const HOST = fileURLToPath(new URL('../../examples/node-server.mjs', import.meta.url));
const BUILT = fileURLToPath(new URL('../../dist/sign-in-relay.js', import.meta.url));

export interface NodeRelay extends LaunchedRelay {
  readonly baseUrl: string;
}

/** Resolves once it answers. */
export async function startNodeRelay(env: Readonly<Record<string, string>>): Promise<NodeRelay> {
  if (!existsSync(BUILT)) throw new Error('not built yet: npm run build');
  const port = await findFreePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const address = { OAUTH_BASE_URL: baseUrl, HOST: '127.0.0.1', PORT: String(port) };
  const relay = launchRelay({ ...address, ...env }, { command: ['node', HOST] });
  await untilHealthy(baseUrl);
  return { ...relay, baseUrl };
}

/** Asked again and again, since the host does not say that it listens. */
async function untilHealthy(baseUrl: string): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    const response = await fetch(`${baseUrl}/health`).catch(() => undefined);
    if (response?.ok) return;
    await Bun.sleep(25);
  }
  throw new Error(`nobody answers at ${baseUrl}`);
}
