/**
 * `bun scripts/release-notes.ts TAG FILE` writes the notes of a release into a file: its
 * section of CHANGELOG.md. It fails if the tag is not the version of both packages, or if
 * anything else that a release needs is missing.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from './run.ts';

interface Package {
  readonly name: string;
  readonly version: string;
  readonly repository?: { readonly url: string };
}

/** Why this tag cannot be released. Empty if it can. */
export function findObstacles(
  tag: string,
  packages: readonly Package[],
  repositoryUrl: string,
): readonly string[] {
  return packages.flatMap(({ name, version, repository }) => [
    ...(tag === `v${version}` ? [] : [`${name} has the version ${version}`]),
    // npm compares it with the repository whose workflow publishes, and refuses the package otherwise.
    ...(repository?.url.includes(repositoryUrl)
      ? []
      : [`package.json of ${name} lacks "repository": {"url": "git+${repositoryUrl}.git"}`]),
  ]);
}

/** Undefined if the version has no section, or an empty one. Links to files become URLs below `filesUrl`. */
export function findNotes(
  changelog: string,
  version: string,
  filesUrl: string,
): string | undefined {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((text) => text.split(/[\s,]/, 1)[0] === version);
  const notes = section?.replace(/^.*\n/, '').trim();
  return notes?.replace(/\]\((?![a-z]+:|#)/g, `](${filesUrl}/`) || undefined;
}

function main([tag = '', file = '']: readonly string[]): void {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository } = process.env;
  if (!server || !repository) throw new Error('GITHUB_SERVER_URL or GITHUB_REPOSITORY is not set');
  const repositoryUrl = `${server}/${repository}`;
  const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
  const packages = ['package.json', 'client/package.json'].map(
    (path): Package => JSON.parse(read(path)),
  );
  const notes = findNotes(
    read('CHANGELOG.md'),
    tag.replace(/^v/, ''),
    `${repositoryUrl}/blob/${tag}`,
  );
  const obstacles = [
    ...findObstacles(tag, packages, repositoryUrl),
    ...(notes === undefined ? ['CHANGELOG.md has no section for it'] : []),
  ];
  if (notes === undefined || obstacles.length > 0) {
    throw new Error(`${tag} cannot be released:\n- ${obstacles.join('\n- ')}`);
  }
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${notes}\n`);
}

if (import.meta.main) main(process.argv.slice(2));
