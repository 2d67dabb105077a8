import { createFault } from './faults.ts';
import type { Reading } from './read-each.ts';

/**
 * Refuses what would make the runtime give secrets away behind our back.
 * `hazards.md` §1c: the first lets anyone answer for a provider, the second
 * prints each exchange with its client secret.
 */
export function rejectDangerousEnvironment({ env, faults }: Reading): void {
  const { NODE_TLS_REJECT_UNAUTHORIZED: tls, BUN_CONFIG_VERBOSE_FETCH: verbose } = env;
  if (tls?.trim() === '0') {
    const problem = 'must not be 0: anyone could answer in place of a provider and get the secrets';
    faults.push(createFault('NODE_TLS_REJECT_UNAUTHORIZED', tls, problem));
  }
  if (verbose !== undefined) {
    const problem = 'must not be set: it prints client secrets and codes';
    faults.push(createFault('BUN_CONFIG_VERBOSE_FETCH', verbose, problem));
  }
}
