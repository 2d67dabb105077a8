/** Listens where HOST and PORT say. */
import { lookup } from 'node:dns/promises';
import { codeOf } from '../providers/connect-problem.ts';
import type { Settings } from '../settings/index.ts';
import type { ListenAddress, Listener, ListenOptions, Runtime } from './runtime.ts';

/**
 * Listens on the first address that this machine has. An address that another program
 * uses is an error: the runtime would skip it and listen on the next one, and two programs
 * would share the port.
 */
export async function listen(
  runtime: Runtime,
  { host, port }: Pick<Settings, 'host' | 'port'>,
  options: ListenOptions,
): Promise<Listener> {
  return listenAtFirst(runtime, await addressesOf(host, port), options);
}

async function listenAtFirst(
  runtime: Runtime,
  [address, ...others]: readonly ListenAddress[],
  options: ListenOptions,
): Promise<Listener> {
  if (address === undefined) throw new Error('no address to listen on');
  try {
    return await runtime.listen(address, options);
  } catch (error) {
    if (others.length === 0 || !isMissingAddress(error)) throw error;
    return listenAtFirst(runtime, others, options);
  }
}

/** `::` accepts IPv4 too. A machine without IPv6 has only `0.0.0.0`. */
async function addressesOf(
  host: string | undefined,
  port: number,
): Promise<readonly ListenAddress[]> {
  const names =
    host === undefined
      ? ['::', '0.0.0.0']
      : (await lookup(host, { all: true })).map(({ address }) => address);
  return names.map((hostname) => ({ hostname, port }));
}

/** Such as `::1` for `localhost` on a machine without IPv6. */
function isMissingAddress(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT';
}

/** The setting that this machine cannot satisfy, as a sentence. Undefined: no setting is the cause. */
export function describeListenFailure(
  error: unknown,
  prefix: '' | 'ADMIN_',
  { host = 'every address', port = 0 }: Partial<Pick<Settings, 'host' | 'port'>>,
): string | undefined {
  const code = codeOf(error);
  if (code === 'EADDRINUSE') {
    return `${prefix}PORT is ${port}: another program listens there already`;
  }
  if (code === 'EACCES') return `${prefix}PORT is ${port}: only root may listen below 1024`;
  return NO_SUCH_ADDRESS.has(code)
    ? `${prefix}HOST is ${host}: this machine has no such address`
    : undefined;
}

/** Errors of listening, and of resolving the host name. */
const NO_SUCH_ADDRESS = new Set([
  'EADDRNOTAVAIL',
  'EAFNOSUPPORT',
  'EINVAL',
  'ENOTFOUND',
  'ESERVFAIL',
  'EAI_AGAIN',
]);
