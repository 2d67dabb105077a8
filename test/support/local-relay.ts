import { findFreePort } from './free-port.ts';
import { type RelayProcess, type StartOptions, startRelay } from './relay-process.ts';

/** A relay on a port of its own; what the test does not say is as in production. */
export async function startLocalRelay(
  env: Readonly<Record<string, string>> = {},
  options: StartOptions = {},
): Promise<RelayProcess> {
  const port = await findFreePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const address = { OAUTH_BASE_URL: baseUrl, HOST: '127.0.0.1', PORT: String(port) };
  return {
    ...(await startRelay({ ...address, LOG_LEVEL: 'debug', ...env }, options)),
    baseUrl,
  };
}
