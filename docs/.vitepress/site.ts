/**
 * The documentation site: which pages it has, where they are, and how links find them.
 * docs/README.md is the one list of pages: what it lists under "For …" is a group of the
 * navigation. A link to a file that is no page leads to the repository.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const LIST = 'docs/README.md';

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

interface PackageFile {
  readonly homepage: string;
  readonly repository: { readonly url: string };
}

const { homepage, repository }: PackageFile = JSON.parse(read('package.json'));

/** The path at which the site is, which begins and ends with a slash. */
export const BASE = new URL(homepage).pathname.replace(/\/?$/, '/');

export const REPOSITORY_URL = repository.url.replace(/^git\+|\.git$/g, '');

/** The anchor that GitHub makes, so that a link works there and on the site. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
    .replaceAll(' ', '-');
}

export interface Item {
  readonly text: string;
  readonly link: string;
  readonly items?: Item[];
}

export interface Group {
  readonly text: string;
  readonly anchor: string;
  readonly items: Item[];
}

/** The pages outside docs/: README.md is the overview, docs/README.md lists the others. */
const OUTSIDE: ReadonlySet<string> = new Set([
  'README.md',
  ...[...read(LIST).matchAll(/\]\(\.\.\/([^)#]+\.md)/g)].map(([, path = '']) => path),
]);

const isPage = (path: string) =>
  path.endsWith('.md') &&
  (path.startsWith('docs/') ? existsSync(join(ROOT, path)) : OUTSIDE.has(path));

/** What VitePress must not read: all of the repository but docs/ and the pages outside it. */
export function listExcluded(): string[] {
  const folders = [...new Set([...OUTSIDE].map((path) => dirname(path)))].filter(
    (name) => name !== '.',
  );
  const tops = new Set(['docs', ...[...OUTSIDE].map((path) => path.split('/', 1)[0])]);
  const others = readdirSync(ROOT).filter((name) => !tops.has(name));
  const beside = folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder))
      .map((name) => `${folder}/${name}`)
      .filter((path) => ![...OUTSIDE].some((page) => page === path || page.startsWith(`${path}/`))),
  );
  return [...others, ...beside].flatMap((path) => [path, `${path}/**`]);
}

/** Where a page of the repository is on the site. No two differ in case alone (SECURITY.md, docs/security.md). */
export function placeOf(path: string): string {
  if (path === LIST) return 'documentation.md';
  if (path === 'README.md') return 'overview.md';
  const place = /^[A-Z]+\.md$/.test(path) ? `project/${path.toLowerCase()}` : path;
  return place.replace(/^docs\//, '').replace(/(^|\/)README\.md$/, '$1index.md');
}

function addressOf(path: string): string {
  return `/${placeOf(path)}`.replace(/(\/)index\.md$|\.md$/, '$1');
}

/** Turns a link of the page at `from` into one of the site. */
export function resolveLink(from: string, link: string): string {
  if (/^([a-z]+:|#|\/)/i.test(link)) return link;
  const [file = '', anchor] = link.split('#');
  const path = normalize(join(dirname(from), file));
  const address = isPage(path) ? addressOf(path) : `${REPOSITORY_URL}/blob/HEAD/${path}`;
  return anchor === undefined ? address : `${address}#${anchor}`;
}

/** The text of a link, with the title of the page instead of its file. */
export function nameOf(from: string, link: string, text: string): string {
  const path = normalize(join(dirname(from), link.split('#', 1)[0] ?? ''));
  return isPage(path) ? text.replace(/^[\w/.-]+\.md/, () => titleOf(path)) : text;
}

/** The groups of docs/README.md, each page with its title, and below it the pages of the folder of its name. */
export function readNavigation(): Group[] {
  const sections = read(LIST)
    .split(/^## (?=For )/m)
    .slice(1);
  return sections.map((section) => {
    const title = section.split('\n', 1)[0] ?? '';
    const rows = section.matchAll(/^\| \[[^\]]*\]\(([^)#]+)\)/gm);
    return {
      text: capitalise(title.replace('For ', '')),
      anchor: anchorOf(title),
      items: [...rows].map(([, link = '']) => toItem(normalize(join('docs', link)))),
    };
  });
}

function toItem(path: string): Item {
  const item = { text: titleOf(path), link: addressOf(path) };
  const folder = path.replace(/(\/README)?\.md$/, '');
  if (!folder.startsWith('docs/') || !existsSync(join(ROOT, folder))) return item;
  const pages = readdirSync(join(ROOT, folder)).filter((name) => /^[a-z-]+\.md$/.test(name));
  const items = pages.map((name) => toItem(`${folder}/${name}`));
  return { ...item, items };
}

const titleOf = (path: string) => /^# +(.*)/m.exec(read(path))?.[1] ?? path;

const capitalise = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
