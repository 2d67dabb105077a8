/** The rights that docs/scaling.md tells an operator to grant. */
import { readFileSync } from 'node:fs';

const PAGE = new URL('../../../docs/scaling.md', import.meta.url);

export type Deployment = 'single' | 'sentinel' | 'cluster';

/** The page has two lines: for every deployment, and for a Cluster. */
export function readAcl(deployment: Deployment) {
  const lines = readFileSync(PAGE, 'utf8').match(/^ACL SETUSER relay .*$/gm) ?? [];
  if (lines.length !== 2) throw new Error(`${PAGE} has ${lines.length} lines of ACL SETUSER`);
  const [everywhere, inCluster] = lines;
  const granted = deployment === 'cluster' ? [everywhere, inCluster] : [everywhere];
  const rules = granted.join(' ').split(' ');
  return {
    /** Keys and channels. */
    places: rules.filter((rule) => /^[~&]/.test(rule)),
    commands: rules.filter((rule) => rule.startsWith('+')),
  };
}

/** The rights in the form of redis.conf, for the keys of each prefix. */
export function rulesFor(deployment: Deployment, prefixes: readonly string[]): string {
  const { places, commands } = readAcl(deployment);
  const own = prefixes.flatMap((prefix) =>
    places.map((place) => place.replace('sign-in-relay:', prefix)),
  );
  return [...own, ...commands].join(' ');
}
