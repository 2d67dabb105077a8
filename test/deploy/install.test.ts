/** What `npm ci` installs, against the versions of Node that package.json names. */
import { expect, test } from 'bun:test';
import packageJson from '../../package.json' with { type: 'json' };
import lockFile from '../../package-lock.json' with { type: 'json' };

interface Installed {
  readonly version?: string;
  readonly engines?: { readonly node?: string };
}

/** The first release of every minor version that may exist. */
const releases = Array.from({ length: 12 }, (_, major) =>
  Array.from({ length: 30 }, (_, minor) => `${major + 18}.${minor}.0`),
).flat();

test('each package accepts each Node that we support, so that npm warns of none', () => {
  const supported = releases.filter((node) => Bun.semver.satisfies(node, packageJson.engines.node));
  expect(supported.length).toBeGreaterThan(0);
  const packages: [string, Installed][] = Object.entries(lockFile.packages);
  const refusals = packages.flatMap(([name, { version, engines: { node: range } = {} }]) => {
    const refused = supported.find((node) => range && !Bun.semver.satisfies(node, range));
    return refused ? [`${name} ${version} does not accept Node ${refused}`] : [];
  });
  expect(refusals).toEqual([]);
});
