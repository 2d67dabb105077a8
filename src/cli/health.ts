/**
 * `sign-in-relay health`: asks the relay on this machine whether it is alive, or with
 * `--ready` whether it is ready. For images without curl.
 */
import { type IncomingMessage, request } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { HEALTH_TIMEOUT_MS } from '../limits.ts';
import { codeOf } from '../providers/connect-problem.ts';
import type { Settings } from '../settings/index.ts';
import { printable } from './terminal.ts';

/** Values of HOST that include loopback. */
const ANY_ADDRESS: ReadonlySet<string> = new Set(['::', '0.0.0.0']);

export async function askHealth(
  { host = '::', port }: Pick<Settings, 'host' | 'port'>,
  path: '/health' | '/ready',
): Promise<{ readonly text: string; readonly exitCode: 0 | 1 }> {
  const address = ANY_ADDRESS.has(host) ? '127.0.0.1' : host;
  try {
    const response = await ask(address, port, path);
    const text = (await readText(response)).slice(0, 200);
    // Another program may have the port.
    return { text: printable(text), exitCode: response.statusCode === 200 ? 0 : 1 };
  } catch (error) {
    const reason = codeOf(error) || 'no answer';
    const place = `${address.includes(':') ? `[${address}]` : address}:${port}`;
    return { text: `no relay answers at ${place} (${reason})`, exitCode: 1 };
  }
}

function ask(host: string, port: number, path: string): Promise<IncomingMessage> {
  const signal = AbortSignal.timeout(HEALTH_TIMEOUT_MS);
  return new Promise((resolve, reject) => {
    request({ host, port, path, signal }, resolve).once('error', reject).end();
  });
}
