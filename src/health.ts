/**
 * `sign-in-relay health`: asks the relay on this machine whether it is alive, or with
 * `--ready` whether it is ready. For images without curl.
 */
import { HEALTH_TIMEOUT_MS } from './limits.ts';
import { codeOf } from './providers/connect-problem.ts';
import type { Settings } from './settings/index.ts';

/** Where every address is listened on, loopback is one of them. */
const ANY_ADDRESS: ReadonlySet<string> = new Set(['::', '0.0.0.0']);

/** The answer in words, and the exit code. */
export async function askHealth(
  { host, port }: Settings,
  path: '/health' | '/ready',
): Promise<{ readonly text: string; readonly exitCode: 0 | 1 }> {
  const name = host === undefined || ANY_ADDRESS.has(host) ? '127.0.0.1' : host;
  const authority = name.includes(':') ? `[${name}]:${port}` : `${name}:${port}`;
  try {
    const response = await fetch(`http://${authority}${path}`, {
      signal: AbortSignal.timeout(HEALTH_TIMEOUT_MS),
      redirect: 'manual',
    });
    const text = (await response.text()).slice(0, 200);
    return { text, exitCode: response.ok ? 0 : 1 };
  } catch (error) {
    const reason = codeOf(error) || 'no answer';
    return { text: `no relay answers at ${authority} (${reason})`, exitCode: 1 };
  }
}
