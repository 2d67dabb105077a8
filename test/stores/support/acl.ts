/** The rights that docs/scaling.md tells an operator to give. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const PAGE = join(import.meta.dir, '../../../docs/scaling.md');

export interface AclRules {
  /** Where the user may go: keys and channels. */
  readonly places: readonly string[];
  readonly commands: readonly string[];
}

/** The page has four lines: for everywhere, all but a Cluster, Sentinel, and a Cluster. */
export function readAcl(deployment: 'single' | 'sentinel' | 'cluster'): AclRules {
  const lines = readFileSync(PAGE, 'utf8').match(/^ACL SETUSER relay .*$/gm) ?? [];
  if (lines.length !== 4) throw new Error(`${PAGE} has ${lines.length} lines of ACL SETUSER`);
  const [everywhere, noCluster, sentinel, cluster] = lines;
  const besides = { single: [noCluster], sentinel: [noCluster, sentinel], cluster: [cluster] };
  const rules = [everywhere, ...besides[deployment]].join(' ').split(' ');
  return {
    places: rules.filter((rule) => /^[~&]/.test(rule)),
    commands: rules.filter((rule) => rule.startsWith('+')),
  };
}

/** As a line of redis.conf has them; the keys are those of `prefix`. */
export function rulesFor(deployment: Parameters<typeof readAcl>[0], prefix: string): string {
  const { places, commands } = readAcl(deployment);
  return [...places.map((place) => place.replace('sign-in-relay:', prefix)), ...commands].join(' ');
}
