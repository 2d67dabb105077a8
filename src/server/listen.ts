/** Listens where HOST and PORT say. */
import { lookup } from 'node:dns/promises';
import { codeOf } from '../providers/connect-problem.ts';
import type { Settings } from '../settings/index.ts';
import type { Listener, ListenOptions, Runtime } from './runtime.ts';

/** The message names the setting that this machine cannot satisfy. */
export class CannotListen extends Error {}

/**
 * Listens on the first address that this machine has. An address that another program
 * uses is an error: the runtime would skip it and listen on the next one, and two programs
 * would share the port. Rejects with CannotListen if a setting is the cause.
 */
export async function listen(
  runtime: Runtime,
  { host, port }: Pick<Settings, 'host' | 'port'>,
  options: Pick<ListenOptions, 'handle' | 'idleSeconds'>,
  prefix: '' | 'ADMIN_' = '',
): Promise<Listener> {
  try {
    const addresses = host === undefined ? EVERY_ADDRESS : await lookup(host, { all: true });
    let missing: unknown = new Error('no address to listen on');
    for (const { address: hostname } of addresses) {
      try {
        return await runtime.listen({ hostname, port, ...options });
      } catch (error) {
        if (!MISSING_ADDRESS.has(codeOf(error))) throw error;
        missing = error;
      }
    }
    throw missing;
  } catch (error) {
    const problem = describeFailure(codeOf(error), prefix, host, port);
    throw problem === undefined ? error : new CannotListen(problem);
  }
}

/** `::` accepts IPv4 too. A machine without IPv6 has only `0.0.0.0`. */
const EVERY_ADDRESS = [{ address: '::' }, { address: '0.0.0.0' }];

/** Errors for an address that the machine lacks, such as `::1` without IPv6. */
const MISSING_ADDRESS = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT']);

/** Undefined if no setting is the cause. */
function describeFailure(code: string, prefix: string, host = 'every address', port = 0) {
  if (code === 'EADDRINUSE') {
    return `${prefix}PORT is ${port}: another program listens there already`;
  }
  if (code === 'EACCES') {
    return `${prefix}PORT is ${port}: this user may not listen there; below 1024 usually only root may`;
  }
  const isUnknown = NO_SUCH_ADDRESS.has(code);
  return isUnknown ? `${prefix}HOST is ${host}: this machine has no such address` : undefined;
}

/** Errors of listening, and of resolving the host name. */
const NO_SUCH_ADDRESS = new Set([
  ...MISSING_ADDRESS,
  'EINVAL',
  'ENOTFOUND',
  'ESERVFAIL',
  'EAI_AGAIN',
]);
