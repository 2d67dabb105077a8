/**
 * `sign-in-relay health`: asks the relay on this machine whether it is alive, or with
 * `--ready` whether it is ready. For images without curl.
 */
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { text as readText } from 'node:stream/consumers';
import { HEALTH_TIMEOUT_MS } from '../limits.ts';
import { codeOf } from '../providers/connect-problem.ts';
import type { Settings } from '../settings/index.ts';
import { printable } from './terminal.ts';

/** Every address of the machine, loopback among them. */
const ANY_ADDRESS: ReadonlySet<string> = new Set(['::', '0.0.0.0']);

const UNIX = 'unix:';

export async function askHealth(
  { host = '::', port, tls }: Pick<Settings, 'host' | 'port' | 'tls'>,
  path: '/health' | '/ready',
): Promise<{ readonly text: string; readonly exitCode: 0 | 1 }> {
  const address = ANY_ADDRESS.has(host) ? '127.0.0.1' : host;
  const isSocket = host.startsWith(UNIX);
  const to = isSocket ? { socketPath: host.slice(UNIX.length) } : { host: address, port };
  const place = isSocket ? host : `${address.includes(':') ? `[${address}]` : address}:${port}`;
  try {
    const response = await ask({ ...to, path }, tls !== undefined);
    const text = (await readText(response)).slice(0, 200);
    // Another program may have the port.
    return { text: printable(text), exitCode: response.statusCode === 200 ? 0 : 1 };
  } catch (error) {
    const reason = codeOf(error) || 'no answer';
    return { text: `no relay answers at ${place} (${reason})`, exitCode: 1 };
  }
}

function ask(to: object, isTls: boolean): Promise<IncomingMessage> {
  // The certificate is for the public name, and this is the same machine.
  const options = {
    ...to,
    rejectUnauthorized: false,
    signal: AbortSignal.timeout(HEALTH_TIMEOUT_MS),
  };
  return new Promise((resolve, reject) => {
    const request = isTls ? requestHttps(options, resolve) : requestHttp(options, resolve);
    request.once('error', reject).end();
  });
}
